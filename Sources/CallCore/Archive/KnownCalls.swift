import CallVocabulary

/// Which call ids may be those of a call that was: what this process has taken in, and what the store held before.
struct KnownCalls {
    private var filter: CallIDFilter?
    /// Taken in while the store's ids were still being read.
    private var early: [CallID] = []

    /// Until the store's ids are known, any id may be one of them.
    func mayContain(_ id: CallID) -> Bool { filter?.mayContain(id) ?? true }

    mutating func insert(_ id: CallID) {
        if filter == nil { early.append(id) } else { filter?.insert(id) }
    }

    mutating func merge(_ stored: CallIDFilter) {
        guard filter == nil else { return }
        filter = stored
        for id in early { filter?.insert(id) }
        early = []
    }
}
