import CallCore
import CallVocabulary
import SignalProtocol

/// The server's codec work for a relayed message: it decodes the message, keeps it until it is acknowledged, and
/// encodes the event.
struct Relay {
    /// The unacknowledged events kept: the limit of a session.
    private static let unacknowledged = CoreLimits().replayEvents

    private let memory = PayloadMemory()
    /// A ring of the last events; ``next`` is the oldest.
    private var events: [ServerEvent] = []
    private var next = 0
    private(set) var written: [UInt8] = []

    /// - Parameter frame: the message that will be relayed.
    init(ready frame: [UInt8]) throws {
        events.reserveCapacity(Self.unacknowledged)
        // After a few rounds there is reusable memory for each kept event.
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

    /// The event for the other phone.
    static func event(for message: ClientMessage) throws -> ServerEvent {
        switch message {
        case .notification(.candidates(let batch)): .candidates(batch)
        case .request(_, .call(.update(let update))): .update(update)
        case .request, .notification, .answeredNotification: throw BenchmarkError("no message to be relayed")
        }
    }
}
