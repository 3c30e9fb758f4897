/// Messages that wait for the kernel to take what went before them. Costs nothing while it is empty.
package struct SendQueue {
    private var messages: [[UInt8]] = []
    /// Where the first message stands; those before it are taken and empty.
    private var first = 0
    /// Payload bytes of the messages.
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
            // A queue that never runs empty would grow at its front for ever.
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
