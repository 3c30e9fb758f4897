import CallCore
import CallStore
import CallVocabulary
import EventLoop
import Logging

/// Reads pages of calls for `call.list` from the store's read-only side, on a thread of its own: history never slows the
/// call path.
struct HistoryReader: Sendable {
    /// Calls in one page at most.
    static let longestPage = 100
    static let standardPage = 50

    let loop: EventLoop
    let reader: StoreReader
    let core: Mailbox<CoreInput>

    /// Ends the thread, and the connection to the store.
    func stop() async {
        await loop.stopAndWait()
        reader.close()
    }

    /// Reads the page and tells the core, which is never left without an answer. How many are under way at once is the
    /// core's to bound.
    func read(_ query: HistoryQuery, _ connection: ConnectionID, _ request: RequestID) {
        loop.execute { core.postAlways(.historyRead(connection, request, page(of: query))) }
    }

    /// - Returns: nil when the store cannot be read.
    private func page(of query: HistoryQuery) -> HistoryPage? {
        let limit = min(max(1, query.limit ?? Self.standardPage), Self.longestPage)
        guard let page = try? reader.history(of: query.party.user, after: query.after, limit: limit) else { return nil }
        return HistoryPage(
            calls: page.entries.map { CallSnapshot($0.call, for: query.party, legs: $0.legs) }, next: page.next)
    }
}
