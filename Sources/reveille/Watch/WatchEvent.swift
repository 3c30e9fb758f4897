import AdminProtocol
import CallVocabulary

/// Events from the server for the watch.
enum WatchEvent: Sendable {
    case link(LinkEvent<CallsChanged>)
    /// A call was to be ended: nil when it was, else why not.
    case ended(CallID, failure: String?)
    /// The story of a call was asked for.
    case story(CallID, CallDetail?, failure: String?)
}

/// Requests of the watch to the server.
enum WatchEffect: Equatable {
    case end(CallID)
    case fetchStory(CallID)
}
