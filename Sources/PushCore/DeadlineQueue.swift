import CallVocabulary
import DequeModule

/// What is due when: the pushes of a machine, each with exactly one deadline.
///
/// Kept sorted. Deadlines come nearly in order (most rings last equally long), so an entry goes in near the end and
/// comes out near the front, where a deque moves few others.
struct DeadlineQueue: Sendable {
    /// Where an entry stands; needed to take it out again.
    struct Key: Comparable, Sendable {
        let due: Instant
        let serial: UInt64

        static func < (a: Self, b: Self) -> Bool {
            (a.due, a.serial) < (b.due, b.serial)
        }
    }

    private var entries = Deque<(key: Key, push: PushID)>()
    private var nextSerial: UInt64 = 0

    var first: (key: Key, push: PushID)? { entries.first }

    mutating func insert(_ push: PushID, due: Instant) -> Key {
        let key = Key(due: due, serial: nextSerial)
        nextSerial += 1
        if let last = entries.last, last.key > key {
            entries.insert((key, push), at: position(of: key))
        } else {
            entries.append((key, push))
        }
        return key
    }

    mutating func remove(_ key: Key) {
        let index = position(of: key)
        precondition(index < entries.count && entries[index].key == key, "a deadline is removed once")
        entries.remove(at: index)
    }

    /// The index of the first entry that is not before `key`.
    private func position(of key: Key) -> Int {
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].key < key { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
