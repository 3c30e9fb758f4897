import CallCore
import CallVocabulary

/// The calls that ended last, for those who are still to be told, and for the records that follow the end.
struct Endings {
    /// How many are kept.
    static let capacity = 4096

    private struct Entry {
        let number: UInt64
        let call: LiveCall
    }

    let capacity: Int
    /// A ring once it is full; `oldest` is where it begins.
    private var entries: [Entry] = []
    private var oldest = 0
    private var byID: [CallID: LiveCall] = [:]
    /// The last that is not kept any more.
    private(set) var forgotten: UInt64 = 0

    init(capacity: Int = Self.capacity) { self.capacity = capacity }

    subscript(id: CallID) -> LiveCall? { byID[id] }

    /// - Returns: the call that is not kept any more in its place.
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

    /// Goes through the calls that ended after a change, for as long as `body` says true.
    func each(after number: UInt64, _ body: (UInt64, LiveCall) -> Bool) {
        let first = (0..<entries.count).firstPlace { self[$0].number > number }
        for place in first..<entries.count {
            guard body(self[place].number, self[place].call) else { return }
        }
    }

    /// How many ended after the change.
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
