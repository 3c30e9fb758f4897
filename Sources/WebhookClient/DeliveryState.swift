import Foundation

/// The state of the deliveries of each endpoint, kept across restarts: `webhooks.json` in the data folder.
///
/// It is written at most once a second, and at a stop. A killed process leaves an older state: the next process sends
/// some events twice and loses none.
struct DeliveryState: Codable, Equatable {
    struct Endpoint: Codable, Equatable {
        /// The position of the last event that was read.
        var cursor: Int64
        var isPaused = false
        /// Why the endpoint is disabled, until `webhooks resume` or an accepted event; nil while events are sent.
        var disabled: String?
        var unsettled: [Unsettled] = []
        /// nil when no user is behind.
        var behind: [Behind]?
        var givenUp: UInt64 = 0

        /// Whether a server can have written it: a file may be damaged, or edited by hand.
        fileprivate var isPossible: Bool {
            guard cursor >= 0, givenUp <= UInt64(Int64.max), Set(unsettled.map(\.position)).count == unsettled.count
            else { return false }
            let areBehind = (behind ?? []).allSatisfy { user in
                // Sums of the counts do not overflow.
                (0...cursor).contains(user.position) && (0..<1 << 32).contains(user.count)
            }
            guard areBehind else { return false }
            return unsettled.allSatisfy { event in
                (0...cursor).contains(event.position) && (0...DeliveryQueue.pauses.count).contains(event.attempts)
                    && event.due.magnitude < 1 << 53
            }
        }
    }

    /// An event up to the cursor without a result.
    struct Unsettled: Codable, Equatable {
        var position: Int64
        var attempts: Int
        /// Wall time of the next attempt, in milliseconds since 1970.
        var due: Int64
    }

    /// A user whose events after a position, up to the cursor, were not read yet: there was no room for more of them.
    struct Behind: Codable, Equatable {
        /// nil for the events that name no user.
        var user: String?
        var position: Int64
        /// The number of these events.
        var count: Int
    }

    var endpoints: [String: Endpoint] = [:]

    /// nil for bytes that are no state, or one that no server writes.
    init?(_ bytes: [UInt8]) {
        guard let state = try? JSONDecoder().decode(Self.self, from: Data(bytes)),
            state.endpoints.values.allSatisfy(\.isPossible)
        else { return nil }
        self = state
    }

    init() {}

    var bytes: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        guard let data = try? encoder.encode(self) else {
            preconditionFailure("integers, booleans and text always have a JSON form")
        }
        return Array(data)
    }
}
