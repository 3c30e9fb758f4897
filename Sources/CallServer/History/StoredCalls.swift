import CallCore
import CallStore
import CallVocabulary
import EventLoop
import Logging
import Synchronization

/// Looks up calls that have left the core's memory. May be used from any thread; reads on the history's thread.
final class StoredCalls: Sendable {
    /// Reads one call; nil when the store does not have it.
    typealias Search = @Sendable (CallID) throws -> StoredCall?

    private let loop: EventLoop
    private let search: Search
    private let core: Mailbox<CoreInput>
    private let log: Logger
    private let isFailing = Atomic<Bool>(false)

    init(loop: EventLoop, search: @escaping Search, core: Mailbox<CoreInput>, log: Logger) {
        self.loop = loop
        self.search = search
        self.core = core
        self.log = log
    }

    convenience init(loop: EventLoop, reader: StoreReader, core: Mailbox<CoreInput>, log: Logger) {
        self.init(loop: loop, search: { try reader.call($0) }, core: core, log: log)
    }

    /// Reads the call and answers the core, even on failure. The core bounds the number of concurrent lookups.
    func find(_ id: CallID) {
        loop.execute { [self] in
            // Posted unconditionally: inputs wait for it, and there is one for each lookup.
            core.postAlways(answer(to: id))
        }
    }

    private func answer(to id: CallID) -> CoreInput {
        do {
            let stored = try search(id)
            if isFailing.exchange(false, ordering: .relaxed) { log.notice("calls can be looked up again") }
            return .callFound(id, stored)
        } catch {
            // Logs one line for a failing store, however many lookups fail.
            if !isFailing.exchange(true, ordering: .relaxed) {
                log.error("a call cannot be looked up in the store: \(error)", metadata: ["call": .string("\(id)")])
            }
            return .callSearchFailed(id)
        }
    }
}
