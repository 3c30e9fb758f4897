import CallVocabulary

/// The receivers of a ``ClientSession``'s outcomes: a completion for each command under way, and streams of events.
/// A driver of a session has one.
public struct SessionReceivers {
    /// Gets the outcome of a command.
    public typealias Completion = @Sendable (Result<Reply, SoftphoneError>) -> Void

    /// A stream of events.
    public struct Stream {
        fileprivate let id: EventStreamID
        public let yield: @Sendable (SoftphoneEvent) -> Void
        fileprivate let finish: @Sendable () -> Void
    }

    private var completions: [CommandTicket: Completion] = [:]
    private var nextTicket: CommandTicket = 1
    public private(set) var streams: [Stream] = []

    public init() {}

    /// Makes a ticket, whose outcome `completion` gets.
    public mutating func ticket(_ completion: @escaping Completion) -> CommandTicket {
        let ticket = nextTicket
        nextTicket += 1
        completions[ticket] = completion
        return ticket
    }

    /// Removes the completion of a ticket. The caller runs it, because it may submit the next command.
    public mutating func removeCompletion(of ticket: CommandTicket) -> Completion? {
        completions.removeValue(forKey: ticket)
    }

    /// - Parameter finish: called after the last event.
    public mutating func addStream(
        _ id: EventStreamID, yield: @escaping @Sendable (SoftphoneEvent) -> Void,
        finish: @escaping @Sendable () -> Void
    ) {
        streams.append(Stream(id: id, yield: yield, finish: finish))
    }

    public mutating func removeStream(_ id: EventStreamID) { streams.removeAll { $0.id === id } }

    public mutating func finishStreams() {
        for stream in streams { stream.finish() }
        streams = []
    }
}

/// The identity of a stream of events.
public final class EventStreamID: Sendable {
    public init() {}
}
