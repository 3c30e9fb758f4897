import CallCore
import CallStore
import CallVocabulary
import EventLoop
import Logging
import Synchronization

/// Looks up calls that have left the core's memory. Any thread; it reads on the history's thread.
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

    /// Reads the call and tells the core, which is never left without an answer. How many are under way at once is the
    /// core's to bound.
    func find(_ id: CallID) {
        loop.execute { [self] in
            // The answer is never lost: something waits for it, and there is one for each search.
            core.postAlways(answer(to: id))
        }
    }

    private func answer(to id: CallID) -> CoreInput {
        do {
            let stored = try search(id)
            if isFailing.exchange(false, ordering: .relaxed) { log.notice("calls can be looked up again") }
            return .callFound(id, stored)
        } catch {
            // One line for a store that fails, however many ask meanwhile.
            if !isFailing.exchange(true, ordering: .relaxed) {
                log.error("a call cannot be looked up in the store: \(error)", metadata: ["call": .string("\(id)")])
            }
            return .callSearchFailed(id)
        }
    }
}
