import CallCore
import CallVocabulary
import EventLoop
import Logging
import StoreInterface

/// The core's thread and its inbox, created before the core: sockets may already be read while the store is opened.
struct CoreThread: Sendable {
    /// Holds the core loop once it is created. Confined to the core's thread.
    private final class Slot {
        var core: CoreLoop?
        var watchdog: Watchdog?
    }

    let loop: EventLoop
    let inbox: Mailbox<CoreInput>
    private let slot: LoopBound<Slot>

    /// Starts the thread; inputs gather until ``run(_:)``.
    static func start() async throws -> CoreThread {
        let loop = try EventLoop(name: "core")
        loop.start()
        let parts = await loop.run {
            let slot = Slot()
            let inbox = Mailbox<CoreInput>(loop: loop, capacity: CoreLoop.inboxCapacity) { slot.core?.receive(&$0) }
            inbox.pause()
            return (inbox, LoopBound(slot, on: loop))
        }
        guard let (inbox, slot) = parts else { preconditionFailure("the core's loop was stopped by nobody") }
        return CoreThread(loop: loop, inbox: inbox, slot: slot)
    }

    /// Creates the core, recovers the stored state, and starts handling inputs.
    func run(
        _ configuration: ServerConfiguration, _ clock: ServerClock, _ recovered: RecoveredState,
        _ committer: any RecordLog, _ outputs: CoreOutputs, _ log: Logger
    ) async {
        _ = await loop.run { [loop, inbox, slot] in
            let core = CallCore(
                timers: configuration.timers, limits: configuration.limits, policy: configuration.policy,
                recordsEvents: !configuration.webhooks.isEmpty, authorization: configuration.authorization?.policy,
                random: SystemRandomness())
            let coreLoop = CoreLoop(
                loop: loop, core: core, clock: clock, committer: committer, outputs: outputs, log: log
            ) { [data = configuration.data, database = configuration.database] anchor in
                // The next home takes its time from the database. On a busy disk the file would delay a take-over.
                guard database == nil else { return }
                do {
                    try anchor.save(in: data)
                } catch {
                    log.warning(
                        "the clock's position cannot be saved for the next start",
                        metadata: ["error": .string("\(error)")])
                }
            }
            slot.value.core = coreLoop
            coreLoop.recover(recovered, inbox: inbox)
            inbox.resume()
        }
    }

    /// Notifies the service manager that the server is ready, and starts the watchdog.
    func tell(_ manager: ServiceManager, _ committer: any RecordLog) async {
        manager.notify("READY=1")
        guard let longest = manager.watchdog else { return }
        _ = await loop.run { [loop, slot] in
            slot.value.watchdog = Watchdog(manager, every: longest / 4, loop: loop) {
                guard committer.isHealthy, let since = committer.waitingSince else { return false }
                return since.duration(to: .now) > StoreStall.patience
            }
        }
    }

    /// Stops all deadlines, and all input except outcomes of pushes; pending effects are still committed and released.
    func rest() async {
        _ = await loop.run { [slot] in slot.value.core?.rest() }
    }

    /// Returns once the inputs now in the inbox are handled.
    func drain() async {
        _ = await loop.run {}
    }

    /// The core's figures; nil before ``run(_:)`` and after the stop.
    func snapshot() async -> CoreSnapshot? {
        await loop.run { [slot] in slot.value.core?.snapshot } ?? nil
    }

    func stop() async {
        _ = await loop.run { [slot] in
            slot.value.core = nil
            slot.value.watchdog = nil
        }
        await loop.stopAndWait()
    }
}
