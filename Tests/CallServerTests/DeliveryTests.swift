import CallVocabulary
import Testing

@testable import CallServer

@Suite("A delivery to a shard")
struct DeliveryTests {
    private let states = (0..<3).map { _ in
        ConnectionState(now: Instant(milliseconds: 0))
    }

    private func written(_ delivery: Delivery<String>) -> [[String: [Int]]] {
        delivery.shares.map { share in
            var messages = [share.first]
            while let next = delivery.message(after: messages[messages.count - 1]) { messages.append(next) }
            return [share.connection: messages]
        }
    }

    @Test("is written by connection, in order for each, and connections in the order of their first message")
    func order() {
        var delivery = Delivery<String>()
        delivery.begin(count: 7)
        for (message, receiver) in [(0, 1), (1, 0), (2, 1), (4, 2), (5, 0), (6, 1)] {
            delivery.add(message, to: ["a", "b", "c"][receiver], states[receiver])
        }
        #expect(written(delivery) == [["b": [0, 2, 6]], ["a": [1, 5]], ["c": [4]]])
    }

    @Test("is empty afterwards")
    func reuse() {
        var delivery = Delivery<String>()
        delivery.begin(count: 3)
        for message in 0..<3 { delivery.add(message, to: "a", states[0]) }
        delivery.end()
        #expect(delivery.shares.isEmpty)
        #expect(states[0].lastMessage == nil)
        delivery.begin(count: 2)
        delivery.add(0, to: "b", states[1])
        delivery.add(1, to: "a", states[0])
        #expect(written(delivery) == [["b": [0]], ["a": [1]]])
    }
}
