import CallCore
import CallVocabulary
import EventLoop
import Logging
import Synchronization

/// Looks up calls that have left the core's memory, off the core's thread. May be used from any thread.
final class StoredCalls: Sendable {
    /// Reads one call; nil when the store does not have it.
    typealias Search = @Sendable (CallID) async throws -> StoredCall?

    private let search: Search
    private let core: Mailbox<CoreInput>
    private let log: Logger
    private let isFailing = Atomic<Bool>(false)

    init(search: @escaping Search, core: Mailbox<CoreInput>, log: Logger) {
        self.search = search
        self.core = core
        self.log = log
    }

    /// Reads the call and answers the core, even on failure. The core bounds the number of concurrent lookups.
    func find(_ id: CallID) {
        // Posted unconditionally: inputs wait for it, and there is one for each lookup.
        Task { core.postAlways(await answer(to: id)) }
    }

    private func answer(to id: CallID) async -> CoreInput {
        do {
            let stored = try await search(id)
            if isFailing.exchange(false, ordering: .relaxed) { log.notice("calls can be looked up again") }
            return .store(.callFound(id, stored))
        } catch {
            // Logs one line for a failing store, however many lookups fail.
            if !isFailing.exchange(true, ordering: .relaxed) {
                log.error("a call cannot be looked up in the store: \(error)", metadata: ["call": .string("\(id)")])
            }
            return .store(.callSearchFailed(id))
        }
    }
}
