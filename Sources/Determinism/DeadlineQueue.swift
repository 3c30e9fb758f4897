import CallVocabulary

/// Points in time at which something falls due: a binary heap whose entries can be taken out again.
///
/// Equal times fall due in the order they were added, so that a run can be replayed.
public struct DeadlineQueue<Subject> {
    /// Names an entry until it has fallen due or was cancelled.
    public struct Token: Equatable, Sendable {
        fileprivate let slot: Int
        fileprivate let order: UInt64
    }

    private struct Entry {
        let at: Instant
        let order: UInt64
        let slot: Int

        static func < (a: Entry, b: Entry) -> Bool {
            (a.at.milliseconds, a.order) < (b.at.milliseconds, b.order)
        }
    }

    fileprivate struct Slot {
        var subject: Subject?
        var order: UInt64
        var position: Int
    }

    private var heap: [Entry] = []
    private var slots: [Slot] = []
    private var free: [Int] = []
    private var added: UInt64 = 0

    public init() {}

    public var count: Int { heap.count }
    /// When the first falls due.
    public var next: Instant? { heap.first?.at }
    /// What falls due first.
    public var first: Subject? { heap.first.flatMap { slots[$0.slot].subject } }

    public mutating func add(_ subject: Subject, at: Instant) -> Token {
        added += 1
        let slot: Int
        if let reused = free.popLast() {
            slot = reused
            slots[slot] = Slot(subject: subject, order: added, position: heap.count)
        } else {
            slot = slots.count
            slots.append(Slot(subject: subject, order: added, position: heap.count))
        }
        heap.append(Entry(at: at, order: added, slot: slot))
        siftUp(heap.count - 1)
        return Token(slot: slot, order: added)
    }

    /// Takes the entry out; one that has already fallen due is none any more, which is no error.
    public mutating func cancel(_ token: Token) {
        guard slots[token.slot].subject != nil, slots[token.slot].order == token.order else { return }
        remove(at: slots[token.slot].position)
    }

    /// Takes out what is due first, if it is due by `now`.
    public mutating func popDue(now: Instant) -> Subject? {
        guard let first = heap.first, first.at <= now else { return nil }
        let subject = slots[first.slot].subject
        remove(at: 0)
        return subject
    }

    private mutating func remove(at position: Int) {
        let slot = heap[position].slot
        slots[slot].subject = nil
        free.append(slot)
        let last = heap.removeLast()
        guard position < heap.count else { return }
        heap[position] = last
        slots[last.slot].position = position
        siftUp(position)
        siftDown(slots[last.slot].position)
    }

    private mutating func siftUp(_ start: Int) {
        var child = start
        let entry = heap[child]
        while child > 0 {
            let parent = (child - 1) / 2
            guard entry < heap[parent] else { break }
            place(heap[parent], at: child)
            child = parent
        }
        place(entry, at: child)
    }

    private mutating func siftDown(_ start: Int) {
        var parent = start
        let entry = heap[parent]
        while true {
            var child = 2 * parent + 1
            guard child < heap.count else { break }
            if child + 1 < heap.count, heap[child + 1] < heap[child] { child += 1 }
            guard heap[child] < entry else { break }
            place(heap[child], at: parent)
            parent = child
        }
        place(entry, at: parent)
    }

    private mutating func place(_ entry: Entry, at position: Int) {
        heap[position] = entry
        slots[entry.slot].position = position
    }
}

extension DeadlineQueue: Sendable where Subject: Sendable {}
extension DeadlineQueue.Slot: Sendable where Subject: Sendable {}
