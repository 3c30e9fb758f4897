import CallCore
import CallVocabulary
import SignalProtocol

/// What a server does in the codec with what one phone says to the other: it reads the message, keeps it until it is
/// acknowledged, and writes the event.
struct Relay {
    /// Of the events that were written last so many are not acknowledged yet: all that a session may have open.
    private static let unacknowledged = CoreLimits().replayEvents

    private let memory = PayloadMemory()
    /// In the order they were written from ``next`` on.
    private var events: [ServerEvent] = []
    private var next = 0
    private(set) var written: [UInt8] = []

    /// - Parameter frame: of the message that is going to be relayed.
    init(ready frame: [UInt8]) throws {
        events.reserveCapacity(Self.unacknowledged)
        // There is a piece of memory for each event that is kept after three turns, or a few more.
        for _ in 0..<8 * Self.unacknowledged { try pass(frame) }
    }

    mutating func pass(_ frame: [UInt8]) throws {
        let event = try Self.event(for: try SignalDecoder.decode(frame: frame, in: memory).get())
        written.removeAll(keepingCapacity: true)
        SignalEncoder.encode(.event(seq: 1, event), now: CallFrames.now, into: &written)
        if events.count < Self.unacknowledged { return events.append(event) }
        events[next] = event
        next = next + 1 < events.count ? next + 1 : 0
    }

    /// What the other phone is told.
    static func event(for message: ClientMessage) throws -> ServerEvent {
        switch message {
        case .notification(.candidates(let batch)): .candidates(batch)
        case .request(_, .call(.update(let update))): .update(update)
        case .request, .notification, .answeredNotification: throw BenchmarkError("no message to be relayed")
        }
    }
}
