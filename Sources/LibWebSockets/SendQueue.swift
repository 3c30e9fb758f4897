/// Messages that wait until the kernel accepts more bytes. Allocates nothing while empty.
package struct SendQueue {
    private enum Message {
        case whole([UInt8])
        /// Written when its turn has come.
        case late((inout [UInt8]) -> Void)
    }

    private var messages: [Message] = []
    /// The index of the first message; earlier elements are empty.
    private var first = 0
    /// Without late messages.
    package private(set) var byteCount = 0

    package init() {}

    package var isEmpty: Bool { first == messages.count }

    package mutating func append(_ message: [UInt8]) {
        messages.append(.whole(message))
        byteCount += message.count
    }

    /// Appends a message that `write` makes once it is the first.
    package mutating func append(late write: @escaping (inout [UInt8]) -> Void) { messages.append(.late(write)) }

    package mutating func removeFirst() -> [UInt8]? {
        guard first < messages.count else { return nil }
        var message: [UInt8] = []
        switch messages[first] {
        case .whole(let bytes):
            message = bytes
            byteCount -= bytes.count
        case .late(let write): write(&message)
        }
        messages[first] = .whole([])
        first += 1
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
