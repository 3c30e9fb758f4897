import CallVocabulary

/// Which call ids may be those of a call that was: what this process has taken in, and what the store held before.
struct KnownCalls {
    /// Past so much in all, enough for some 100 million calls, more and more new calls are looked up until the next start.
    private static let mostBytes = 128 << 20

    /// The last one takes what comes; each is twice as large as the one before. Empty until the store's ids are known.
    private var filters: [CallIDFilter] = []
    /// Taken in while the store's ids were still being read.
    private var early: [CallID] = []

    /// Until the store's ids are known, any id may be one of them.
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
