import CallVocabulary

/// What the server says to an administrator's client.
public enum AdminAnswer: Equatable, Sendable {
    /// - `next`: of a list that goes on, what to ask for the next page with.
    case reply(RequestID, AdminReply, next: String? = nil)
    /// The request was understood and is not granted.
    case refusal(RequestID, AdminRefusal)
    /// The request was not understood, or cannot be taken now.
    case error(RequestID?, SignalError)
}
