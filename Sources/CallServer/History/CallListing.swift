import CallCore
import CallVocabulary
import EventLoop
import Logging

/// Lists the ids of all stored calls for the core, once, while the server already serves.
///
/// Each slice is a query of its own, so that other queries run in between.
struct CallListing: Sendable {
    /// The source of ids.
    struct Source: Sendable {
        /// The approximate number of calls.
        let count: @Sendable () async throws -> Int
        /// Up to so many ids after the given one, in order; nil for the first ones.
        let page: @Sendable (CallID?, Int) async throws -> [CallID]
    }

    /// Ids in one query: a few milliseconds.
    private static let slice = 4096

    let source: Source
    let core: Mailbox<CoreInput>
    var retryPause = Duration.seconds(5)
    let log: Logger

    /// Returns when the core has the list, or when the task is cancelled. A failed query is repeated after a pause;
    /// meanwhile the core looks up every new call, which is slow but correct.
    func run() async {
        let begunAt = ContinuousClock.now
        var filter: CallIDFilter?
        var last: CallID?
        var listed = 0
        var failures = 0
        while !Task.isCancelled {
            do {
                // Capacity for as many new calls, which the core inserts itself.
                var ids: CallIDFilter
                if let filter { ids = filter } else { ids = CallIDFilter(expecting: 2 * (try await source.count())) }
                let slice = try await source.page(last, Self.slice)
                for id in slice { ids.insert(id) }
                filter = ids
                listed += slice.count
                last = slice.last ?? last
                guard slice.count == Self.slice else {
                    core.postAlways(.store(.callsListed(ids)))
                    return noteEnd(listed, failures, since: begunAt)
                }
            } catch {
                failures += 1
                if failures == 1 {
                    log.warning(
                        "the store's calls cannot be listed yet: \(error)",
                        metadata: ["listed": .stringConvertible(listed)])
                }
                try? await Task.sleep(for: retryPause)
            }
        }
    }

    private func noteEnd(_ listed: Int, _ failures: Int, since begunAt: ContinuousClock.Instant) {
        let elapsed = ContinuousClock.now - begunAt
        log.info(
            "calls of the store listed",
            metadata: [
                "calls": .stringConvertible(listed), "failures": .stringConvertible(failures),
                "ms": .stringConvertible(elapsed.wholeMilliseconds),
            ])
    }
}
