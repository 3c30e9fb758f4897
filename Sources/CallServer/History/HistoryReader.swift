import CallCore
import CallVocabulary
import EventLoop
import StoreInterface

/// Reads pages of calls for `call.list`, off the core's thread.
struct HistoryReader: Sendable {
    /// The most calls in one page.
    static let longestPage = 100
    static let standardPage = 50

    let queries: any StoreQueries
    let core: Mailbox<CoreInput>

    /// Reads the page and answers the core, even on failure. The core bounds the number of concurrent reads.
    func read(_ query: HistoryQuery, _ connection: ConnectionID, _ request: RequestID) {
        Task { core.postAlways(.store(.historyRead(connection, request, await page(of: query)))) }
    }

    /// - Returns: nil when the store cannot be read.
    private func page(of query: HistoryQuery) async -> HistoryPage? {
        let limit = min(max(1, query.limit ?? Self.standardPage), Self.longestPage)
        guard
            let page = try? await queries.history(of: query.party.user, after: query.after, limit: limit)
        else { return nil }
        return HistoryPage(
            calls: page.entries.map { CallSnapshot($0.call, for: query.party, legs: $0.legs) }, next: page.next)
    }
}
