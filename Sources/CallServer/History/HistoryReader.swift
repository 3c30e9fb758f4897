import CallCore
import CallStore
import CallVocabulary
import EventLoop

/// Answers `call.list` from the store's read-only side, on a thread of its own: history never slows the call path.
struct HistoryReader: Sendable {
    struct Page: Sendable {
        let calls: [CallSnapshot]
        let next: HistoryCursor?
    }

    /// Calls in one page at most.
    static let longestPage = 100
    static let standardPage = 50

    let loop: EventLoop
    let reader: StoreReader

    /// Ends the thread, and the connection to the store.
    func stop() async {
        await loop.stopAndWait()
        reader.close()
    }

    /// - Parameters:
    ///   - party: whose history it is, and the device that asks.
    ///   - completion: called once, on the history's own thread.
    func page(
        of party: Party, after cursor: HistoryCursor?, limit: Int?,
        completion: @escaping @Sendable (Result<Page, any Error>) -> Void
    ) {
        let count = min(max(1, limit ?? Self.standardPage), Self.longestPage)
        loop.execute { [reader] in
            completion(
                Result {
                    let page = try reader.history(of: party.user, after: cursor, limit: count)
                    return Self.fitToFrame(
                        Page(calls: page.calls.map { Self.snapshot(of: $0, for: party) }, next: page.next))
                })
        }
    }

    /// Cuts the page to what one frame takes.
    static func fitToFrame(_ page: Page) -> Page {
        let fitting = Array(page.calls.prefixThatFitsFrame)
        guard fitting.count < page.calls.count, let last = fitting.last else { return page }
        return Page(calls: fitting, next: HistoryCursor(before: last.createdAt, call: last.call))
    }

    private static func snapshot(of record: CallRecord, for party: Party) -> CallSnapshot {
        var view = CallSnapshot(
            call: record.id, role: record.caller.user == party.user ? .caller : .callee, state: record.state,
            from: record.caller.user, fromName: record.callerName, to: record.to, video: record.video,
            createdAt: record.createdAt)
        view.isOwnAct = record.endedBy == party
        view.answeredAt = record.answeredAt
        view.connectedAt = record.connectedAt
        view.endedAt = record.endedAt
        view.reason = record.endReason
        view.by = record.endedBy
        view.mergedInto = record.mergedInto
        return view
    }
}
