import CallVocabulary

/// A backend's request about a call.
public enum BackendRequest: Equatable, Sendable {
    /// Starts a call whose caller has no session. The caller need not be a registered user.
    indirect case invite(BackendInvite)
    case get(CallID)
    /// Answered as soon as the call differs from this version.
    case follow(CallID, after: UInt64)
    /// Ends the connection's ``follow(_:after:)``, which then has no answer. It has none itself.
    case unfollow(CallID)
    case connected(CallID)
    case hangup(CallID, HangupReason)

    public var call: CallID {
        switch self {
        case .invite(let body): body.invite.call
        case .get(let call), .follow(let call, _), .unfollow(let call), .connected(let call), .hangup(let call, _): call
        }
    }
}

/// The users for whom a backend may act.
public struct BackendScope: Equatable, Sendable {
    /// Handles; one that ends in `*` stands for all that begin so. nil for every user.
    public var users: [String]?

    public init(users: [String]? = nil) { self.users = users }

    public func includes(_ user: Handle) -> Bool {
        CallAllowance(targets: users).firstExcluded(of: .user(user)) == nil
    }
}
