import CallVocabulary

/// The ids that past calls may have: those this process has accepted, and those in the store before it started.
struct KnownCalls {
    /// The most bytes of all filters, enough for some 100 million calls. Beyond that the false positive rate, and with
    /// it the share of new calls that are looked up, rises until the next start.
    private static let mostBytes = 128 << 20

    /// The last filter takes new ids; each is twice as large as the one before. Empty until the store's ids are known.
    private var filters: [CallIDFilter] = []
    /// Ids accepted while the store's ids are still being read.
    private var early: [CallID] = []

    /// True for every id until the store's ids are known.
    func mayContain(_ id: CallID) -> Bool { filters.isEmpty || filters.contains { $0.mayContain(id) } }

    mutating func insert(_ id: CallID) {
        guard let last = filters.indices.last else { return early.append(id) }
        filters[last].insert(id)
        if filters[last].isFull, filters.reduce(0, { $0 + $1.bytes }) < Self.mostBytes {
            filters.append(CallIDFilter(expecting: 2 * filters[last].capacity))
        }
    }

    mutating func merge(_ stored: CallIDFilter) {
        guard filters.isEmpty else { return }
        filters = [stored]
        for id in early { insert(id) }
        early = []
    }
}
