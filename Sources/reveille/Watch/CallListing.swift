import AdminProtocol
import CallVocabulary

/// The sort order of the calls.
enum CallSort: String, CaseIterable {
    case trouble, age, state, from, to, devices

    var next: CallSort {
        let all = Self.allCases
        return all[((all.firstIndex(of: self) ?? 0) + 1) % all.count]
    }
}

/// The rows of a table of calls: which, and in which order. Made anew only when something of it has changed.
struct CallListing {
    var sort = CallSort.trouble
    /// What is longest in trouble first, then the youngest; for age the youngest; A to Z for words; unless reversed.
    var isReversed = false
    var filter = ""

    private struct Basis: Equatable {
        var revision: Int
        var sort: CallSort
        var isReversed: Bool
        var filter: String
        /// For an order that changes as time passes.
        var second: Int64
    }

    private struct Row {
        var number: Int64
        var word: String
        var created: Int64
        var id: CallID
    }

    private(set) var rows: [CallID] = []
    private var basis: Basis?

    init(sort: CallSort = .trouble) { self.sort = sort }

    /// Whether the smallest is on top; of ages the youngest is. What is longest in trouble, and what has the most devices,
    /// comes first.
    var isAscending: Bool {
        switch sort {
        case .age, .state, .from, .to: !isReversed
        case .trouble, .devices: isReversed
        }
    }

    mutating func update(_ board: CallBoard, wallMilliseconds: Int64) {
        let wanted = Basis(
            revision: board.revision, sort: sort, isReversed: isReversed, filter: filter,
            second: sort == .trouble ? wallMilliseconds / 1000 : 0)
        guard wanted != basis else { return }
        basis = wanted
        let needle = filter.lowercased()
        var sorted: [Row] = []
        sorted.reserveCapacity(board.entries.count)
        for entry in board.entries.values where needle.isEmpty || entry.searchText.utf8.contains(needle.utf8) {
            sorted.append(row(entry.call, wallMilliseconds))
        }
        sorted.sort(by: Self.precedes)
        if isReversed { sorted.reverse() }
        rows = sorted.map(\.id)
    }

    /// As a table has them.
    static func sorted(_ calls: [CallView], by sort: CallSort, wallMilliseconds: Int64) -> [CallView] {
        let listing = CallListing(sort: sort)
        return calls.map { (listing.row($0, wallMilliseconds), $0) }.sorted { precedes($0.0, $1.0) }.map(\.1)
    }

    private func row(_ call: CallView, _ wallMilliseconds: Int64) -> Row {
        let created = call.createdAt.instant.milliseconds
        var row = Row(number: 0, word: "", created: created, id: call.callID)
        switch sort {
        case .trouble:
            // Whole seconds: calls that a second brought stay in their order.
            let trouble = CallTrouble.of(call, wallMilliseconds: wallMilliseconds)
            row.number = trouble.map { -$0.since.components.seconds } ?? 0
        case .age: break
        case .state: row.number = Int64(call.state.rank)
        case .from: row.word = call.from.text
        case .to: row.word = CallWords.target(call.to)
        // Those that keep the most devices busy come first.
        case .devices: row.number = -Int64(call.counts?.devices ?? 0)
        }
        return row
    }

    /// In the order of a call's life.

    private static func precedes(_ a: Row, _ b: Row) -> Bool {
        if a.number != b.number { return a.number < b.number }
        if a.word != b.word { return a.word.utf8.lexicographicallyPrecedes(b.word.utf8) }
        if a.created != b.created { return a.created > b.created }
        return (a.id.high, a.id.low) < (b.id.high, b.id.low)
    }
}

extension String.UTF8View {
    /// Whether the bytes of `needle` stand somewhere in a row.
    fileprivate func contains(_ needle: String.UTF8View) -> Bool {
        guard let first = needle.first else { return true }
        let length = needle.count
        return withContiguousStorageIfAvailable { hay -> Bool in
            guard hay.count >= length else { return false }
            for start in 0...hay.count - length where hay[start] == first {
                if hay[start..<start + length].elementsEqual(needle) { return true }
            }
            return false
        } ?? false
    }
}
