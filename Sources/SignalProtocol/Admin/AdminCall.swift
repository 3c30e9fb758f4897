import CallVocabulary

/// What an administrator's client asks, with the `id` that its answer gives back.
public struct AdminCall: Equatable, Sendable {
    public var id: RequestID
    public var request: AdminRequest

    public init(id: RequestID, _ request: AdminRequest) {
        self.id = id
        self.request = request
    }
}

public enum AdminRequest: Equatable, Sendable {
    /// For the core. A list comes in pages, in the order of names: `after` is the last name of the page before, and nil
    /// for everything else.
    case command(AdminCommand, after: String? = nil)
}
