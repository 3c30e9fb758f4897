import CallCore
import CallStore
import CallVocabulary
import EventLoop
import Logging

/// Lists the ids of all stored calls for the core, once, after the start, while the server already serves.
///
/// Reads slice by slice, and lets other jobs of the history's thread run in between. Confined to that thread, except
/// its initializer.
final class CallListing {
    /// The source of ids.
    struct Source: Sendable {
        /// The approximate number of calls.
        let count: @Sendable () throws -> Int
        /// Up to so many ids after the given one, in order; nil for the first ones.
        let page: @Sendable (CallID?, Int) throws -> [CallID]
    }

    /// Ids in one slice: a few milliseconds.
    private static let slice = 4096

    private let loop: EventLoop
    private let source: Source
    private let core: Mailbox<CoreInput>
    private let retryPause: Duration
    private let log: Logger
    private let begunAt = ContinuousClock.now
    /// nil before the first slice, and once passed to the core.
    private var filter: CallIDFilter?
    private var last: CallID?
    private var listed = 0
    private var failures = 0
    private var isStopped = false
    private var retry: LoopTimer?

    init(
        loop: EventLoop, source: Source, core: Mailbox<CoreInput>, retryPause: Duration = .seconds(5), log: Logger
    ) {
        self.loop = loop
        self.source = source
        self.core = core
        self.retryPause = retryPause
        self.log = log
    }

    /// Reads the first slice and schedules the others. Call it once.
    func begin() { readSlice() }

    private func readSlice() {
        loop.assertIsCurrent()
        guard !isStopped else { return }
        do {
            // Capacity for as many new calls, which the core inserts itself.
            if filter == nil { filter = CallIDFilter(expecting: 2 * (try source.count())) }
            let ids = try source.page(last, Self.slice)
            for id in ids { filter?.insert(id) }
            listed += ids.count
            guard ids.count == Self.slice else { return finish() }
            last = ids.last
        } catch {
            return pause(after: error)
        }
        let me = LoopBound(self, on: loop)
        loop.execute { me.value.readSlice() }
    }

    /// Abandons the listing, and releases the timer.
    func stop() {
        loop.assertIsCurrent()
        isStopped = true
        retry = nil
    }

    private func finish() {
        guard let filter else { return }
        core.postAlways(.storedCallsListed(filter))
        self.filter = nil
        let elapsed = ContinuousClock.now - begunAt
        log.info(
            "calls of the store listed",
            metadata: [
                "calls": .stringConvertible(listed), "failures": .stringConvertible(failures),
                "ms": .stringConvertible(elapsed.wholeMilliseconds),
            ])
    }

    /// Retries from the same position. Meanwhile the core looks every new call up, which is slow but correct.
    private func pause(after error: any Error) {
        failures += 1
        if failures == 1 {
            log.warning(
                "the calls of the store cannot be listed yet: \(error)",
                metadata: ["listed": .stringConvertible(listed)])
        }
        let timer = retry ?? LoopTimer(loop: loop) { [weak self] in self?.readSlice() }
        retry = timer
        timer.start(after: retryPause)
    }
}

@available(*, unavailable)
extension CallListing: Sendable {}

extension CallListing.Source {
    init(_ reader: StoreReader) {
        self.init(
            count: { try reader.callCount() },
            page: { last, limit in try reader.callIDs(after: last, limit: limit) })
    }
}
