import CallCore
import CallVocabulary

/// The most recently ended calls, for slow subscribers and for records that arrive after the end.
struct Endings {
    /// The most calls kept.
    static let capacity = 4096

    private struct Entry {
        let number: UInt64
        let call: LiveCall
    }

    let capacity: Int
    /// A ring buffer once it is full; `oldest` is its start.
    private var entries: [Entry] = []
    private var oldest = 0
    private var byID: [CallID: LiveCall] = [:]
    /// The change number of the last call dropped.
    private(set) var forgotten: UInt64 = 0

    init(capacity: Int = Self.capacity) { self.capacity = capacity }

    subscript(id: CallID) -> LiveCall? { byID[id] }

    /// - Returns: the call that this one replaces in the ring.
    mutating func add(_ call: LiveCall, _ number: UInt64) -> LiveCall? {
        byID[call.record.id] = call
        guard entries.count == capacity else {
            entries.append(Entry(number: number, call: call))
            return nil
        }
        let leaving = entries[oldest]
        entries[oldest] = Entry(number: number, call: call)
        oldest = (oldest + 1) % capacity
        forgotten = leaving.number
        byID[leaving.call.record.id] = nil
        return leaving.call
    }

    /// Iterates over the calls that ended after a change while `body` returns true.
    func each(after number: UInt64, _ body: (UInt64, LiveCall) -> Bool) {
        let first = (0..<entries.count).firstPlace { self[$0].number > number }
        for place in first..<entries.count {
            guard body(self[place].number, self[place].call) else { return }
        }
    }

    func count(after number: UInt64) -> Int {
        entries.count - (0..<entries.count).firstPlace { self[$0].number > number }
    }

    private subscript(place: Int) -> Entry { entries[(oldest + place) % entries.count] }

    mutating func removeAll(at number: UInt64) {
        entries = []
        oldest = 0
        byID = [:]
        forgotten = number
    }
}
