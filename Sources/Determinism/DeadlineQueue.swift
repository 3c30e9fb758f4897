import CallVocabulary

/// A priority queue of deadlines: a binary heap with removable entries.
///
/// Equal deadlines fall due in the order of their addition, so that a run can be replayed. Everything is inlinable: the
/// machines that use it are in other modules, and unspecialized generic code costs ten times as much.
@frozen public struct DeadlineQueue<Subject> {
    /// Identifies an entry until it falls due or is cancelled.
    @frozen public struct Token: Equatable, Sendable {
        @usableFromInline let slot: Int
        @usableFromInline let order: UInt64

        @inlinable init(slot: Int, order: UInt64) {
            self.slot = slot
            self.order = order
        }
    }

    @usableFromInline @frozen struct Entry {
        @usableFromInline let at: Instant
        @usableFromInline let order: UInt64
        @usableFromInline let slot: Int

        @inlinable init(at: Instant, order: UInt64, slot: Int) {
            self.at = at
            self.order = order
            self.slot = slot
        }

        @inlinable static func < (a: Entry, b: Entry) -> Bool {
            (a.at.milliseconds, a.order) < (b.at.milliseconds, b.order)
        }
    }

    @usableFromInline @frozen struct Slot {
        @usableFromInline var subject: Subject?
        @usableFromInline var order: UInt64
        @usableFromInline var position: Int

        @inlinable init(subject: Subject, order: UInt64, position: Int) {
            self.subject = subject
            self.order = order
            self.position = position
        }
    }

    @usableFromInline var heap: [Entry] = []
    @usableFromInline var slots: [Slot] = []
    @usableFromInline var free: [Int] = []
    @usableFromInline var added: UInt64 = 0

    @inlinable public init() {}

    @inlinable public var count: Int { heap.count }
    /// The earliest deadline.
    @inlinable public var next: Instant? { heap.first?.at }
    /// The subject of the earliest deadline.
    @inlinable public var first: Subject? { heap.first.flatMap { slots[$0.slot].subject } }

    /// Any entry for which `isWanted` is true. Linear time.
    public func any(where isWanted: (Subject) -> Bool) -> Subject? {
        for entry in heap {
            if let subject = slots[entry.slot].subject, isWanted(subject) { return subject }
        }
        return nil
    }

    @inlinable public mutating func add(_ subject: Subject, at: Instant) -> Token {
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

    /// Removes the entry; no effect if it has already fallen due.
    @inlinable public mutating func cancel(_ token: Token) {
        guard slots[token.slot].subject != nil, slots[token.slot].order == token.order else { return }
        remove(at: slots[token.slot].position)
    }

    /// Removes the earliest entry and returns it, if it is due by `now`.
    @inlinable public mutating func popDue(now: Instant) -> Subject? {
        guard let first = heap.first, first.at <= now else { return nil }
        let subject = slots[first.slot].subject
        remove(at: 0)
        return subject
    }

    @inlinable mutating func remove(at position: Int) {
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

    @inlinable mutating func siftUp(_ start: Int) {
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

    @inlinable mutating func siftDown(_ start: Int) {
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

    @inlinable mutating func place(_ entry: Entry, at position: Int) {
        heap[position] = entry
        slots[entry.slot].position = position
    }
}

extension DeadlineQueue: Sendable where Subject: Sendable {}
extension DeadlineQueue.Slot: Sendable where Subject: Sendable {}
