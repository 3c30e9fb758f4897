import CallVocabulary

/// What a user's token allows in placing calls.
public struct CallAllowance: Equatable, Sendable {
    /// Handles and names of groups that may be called; one that ends in `*` stands for all that begin so. nil for
    /// anybody.
    public var targets: [String]?
    /// Calls in a minute, over all devices of the user; at least 1. nil for any number.
    public var callsPerMinute: Int?

    public init(targets: [String]? = nil, callsPerMinute: Int? = nil) {
        self.targets = targets
        self.callsPerMinute = callsPerMinute
    }

    /// The first callee who may not be called; nil when all may be.
    func firstExcluded(of target: CallTarget) -> String? {
        guard let targets else { return nil }
        let callees =
            switch target {
            case .user(let user): [user.text]
            case .users(let users): users.map(\.text)
            case .group(let name): [name]
            }
        let allowed = Patterns(targets)
        return callees.first { !allowed.contains($0) }
    }

    /// Handles and beginnings of handles, found by their hash: a token may have many of them, and a list as many callees.
    /// Compares bytes, as handles are compared.
    private struct Patterns {
        private var handles: Set<ArraySlice<UInt8>> = []
        private var beginnings: Set<ArraySlice<UInt8>> = []
        /// The lengths of the beginnings, each once.
        private let lengths: [Int]

        init(_ patterns: [String]) {
            for pattern in patterns {
                let bytes = Array(pattern.utf8)[...]
                if bytes.last == UInt8(ascii: "*") {
                    beginnings.insert(bytes.dropLast())
                } else {
                    handles.insert(bytes)
                }
            }
            lengths = Set(beginnings.map(\.count)).sorted()
        }

        func contains(_ callee: String) -> Bool {
            let bytes = Array(callee.utf8)[...]
            return handles.contains(bytes)
                || lengths.contains { $0 <= bytes.count && beginnings.contains(bytes.prefix($0)) }
        }
    }
}

extension CallCore {
    static let minute = Duration.seconds(60)

    /// Refuses an invite that the session's token does not allow.
    func isAllowed(
        _ invite: Invite, _ session: Session, _ connection: ConnectionID, _ request: RequestID
    ) -> Bool {
        let allowance = session.allowance
        if let callee = allowance.firstExcluded(of: invite.to) {
            let targets = allowance.targets ?? []
            let shown = targets.prefix(5).joined(separator: ", ") + (targets.count > 5 ? ", …" : "")
            refuse(
                connection, request, .forbidden,
                "The token's call_to does not allow \(callee); it allows \(targets.isEmpty ? "nobody" : shown).")
            return false
        }
        if let most = allowance.callsPerMinute,
            let next = session.device.user.allowanceBound.nextAllowed(at: now, most, in: Self.minute)
        {
            let seconds = Self.seconds(until: next, from: now)
            refuse(
                connection, request, .rateLimited(retryAfter: next - now),
                "The token's calls_per_minute is \(most); call again in \(seconds) s.")
            return false
        }
        return true
    }

    /// Counts an invite that was accepted.
    func spendAllowance(of session: Session) {
        guard let most = session.allowance.callsPerMinute else { return }
        session.device.user.allowanceBound.spend(at: now, most, in: Self.minute)
    }
}
