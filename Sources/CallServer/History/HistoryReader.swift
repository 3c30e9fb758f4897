import CallCore
import CallStore
import CallVocabulary
import EventLoop

/// Answers `call.list` from the store's read-only side, on a thread of its own: history never slows the call path.
struct HistoryReader: Sendable {
    struct Page: Sendable {
        let calls: [CallSnapshot]
        let next: Instant?
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

    /// - Parameter completion: called once, on the history's own thread.
    func page(
        of user: Handle, before: Instant?, limit: Int?,
        completion: @escaping @Sendable (Result<Page, any Error>) -> Void
    ) {
        let count = min(max(1, limit ?? Self.standardPage), Self.longestPage)
        loop.execute { [reader] in
            completion(
                Result {
                    let page = try reader.history(of: user, before: before, limit: count)
                    return Self.fitToFrame(
                        Page(calls: page.calls.map { Self.snapshot(of: $0, for: user) }, next: page.next))
                })
        }
    }

    /// Cuts the page to what one frame takes. Like the store's pages it ends between two milliseconds, so that the next
    /// one misses no call; only calls of one and the same millisecond that fill a frame are cut within.
    static func fitToFrame(_ page: Page) -> Page {
        let fitting = page.calls.prefixThatFitsFrame
        guard fitting.count < page.calls.count, let last = fitting.last else { return page }
        let firstLeftOut = page.calls[fitting.count].createdAt
        let whole = last.createdAt == firstLeftOut ? fitting.prefix { $0.createdAt != firstLeftOut } : fitting
        let calls = Array(whole.isEmpty ? fitting : whole)
        return Page(calls: calls, next: calls.last?.createdAt)
    }

    private static func snapshot(of record: CallRecord, for user: Handle) -> CallSnapshot {
        var view = CallSnapshot(
            call: record.id, role: record.caller.user == user ? .caller : .callee, state: record.state,
            from: record.caller.user, to: record.to, video: record.video, createdAt: record.createdAt)
        view.answeredAt = record.answeredAt
        view.connectedAt = record.connectedAt
        view.endedAt = record.endedAt
        view.reason = record.endReason
        view.by = record.endedBy
        view.mergedInto = record.mergedInto
        return view
    }
}
