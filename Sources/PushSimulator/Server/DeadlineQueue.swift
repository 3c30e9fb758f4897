import CallVocabulary
import HeapModule

/// What falls due and when: the phones' report deadlines and the pushes held back by a fault. Pure.
struct DeadlineQueue {
    enum Item {
        /// Something may be due on the phone of this token. Stale entries are harmless: the phone knows.
        case phone(token: String)
        case latePush(AcceptedPush)
    }

    private struct Entry: Comparable {
        let at: Instant
        /// Keeps entries of one instant in the order they came.
        let serial: UInt64
        let item: Item

        static func < (a: Self, b: Self) -> Bool { (a.at, a.serial) < (b.at, b.serial) }
        static func == (a: Self, b: Self) -> Bool { a.serial == b.serial }
    }

    private var heap = Heap<Entry>()
    private var serial: UInt64 = 0

    var next: Instant? { heap.min?.at }

    mutating func add(_ item: Item, at: Instant) {
        serial += 1
        heap.insert(Entry(at: at, serial: serial, item: item))
    }

    mutating func popDue(now: Instant) -> Item? {
        guard let first = heap.min, first.at <= now else { return nil }
        return heap.removeMin().item
    }
}
