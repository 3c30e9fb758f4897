import CallCore
import CallStore
import CallVocabulary
import EventLoop
import Logging

/// Reads pages of calls for `call.list` through a read-only connection, on a thread of its own, so that history does
/// not slow the call path.
struct HistoryReader: Sendable {
    /// The most calls in one page.
    static let longestPage = 100
    static let standardPage = 50

    let loop: EventLoop
    let reader: StoreReader
    let core: Mailbox<CoreInput>

    /// Ends the thread and closes the connection to the store.
    func stop() async {
        await loop.stopAndWait()
        reader.close()
    }

    /// Reads the page and answers the core, even on failure. The core bounds the number of concurrent reads.
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
