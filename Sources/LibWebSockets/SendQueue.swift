/// Messages that wait until the kernel accepts more bytes. Allocates nothing while empty.
package struct SendQueue {
    private var messages: [[UInt8]] = []
    /// The index of the first message; earlier elements are empty.
    private var first = 0
    package private(set) var byteCount = 0

    package init() {}

    package var isEmpty: Bool { first == messages.count }

    package mutating func append(_ message: [UInt8]) {
        messages.append(message)
        byteCount += message.count
    }

    package mutating func removeFirst() -> [UInt8]? {
        guard first < messages.count else { return nil }
        let message = messages[first]
        messages[first] = []
        first += 1
        byteCount -= message.count
        if first == messages.count {
            removeAll()
        } else if first >= 32, first * 2 >= messages.count {
            // Without this, a queue that never becomes empty would grow forever.
            messages.removeFirst(first)
            first = 0
        }
        return message
    }

    package mutating func removeAll() {
        messages = []
        first = 0
        byteCount = 0
    }
}
