import CallCore
import CallVocabulary
import EventLoop
import Logging
import StoreInterface

/// The core's thread and its inbox, there before the core itself: sockets may already speak while the store is read.
struct CoreThread: Sendable {
    /// Holds the core loop once it is there. Confined to the core's thread.
    private final class Slot {
        var core: CoreLoop?
        var watchdog: Watchdog?
    }

    let loop: EventLoop
    let inbox: Mailbox<CoreInput>
    private let slot: LoopBound<Slot>

    /// Starts the thread; what comes in gathers until ``run(_:)``.
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

    /// Makes the core, takes up what the store gave back, and begins to take what comes in.
    func run(
        _ configuration: ServerConfiguration, _ clock: ServerClock, _ recovered: RecoveredState,
        _ committer: any RecordLog, _ outputs: CoreOutputs, _ log: Logger
    ) async {
        _ = await loop.run { [loop, inbox, slot] in
            let core = CallCore(
                timers: configuration.timers, limits: configuration.limits, policy: configuration.policy,
                random: SystemRandomness())
            let coreLoop = CoreLoop(
                loop: loop, core: core, clock: clock, committer: committer, outputs: outputs, log: log
            ) { [data = configuration.data] anchor in
                do {
                    try anchor.save(in: data)
                } catch {
                    log.warning(
                        "where the clock stands cannot be kept for the next start",
                        metadata: ["error": .string("\(error)")])
                }
            }
            slot.value.core = coreLoop
            coreLoop.recover(recovered, inbox: inbox)
            inbox.resume()
        }
    }

    /// Tells the service manager that the server is up and, from now on, that it lives.
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

    /// Lets no deadline pass and takes nothing more in but the outcomes of pushes; what is decided is still committed and
    /// released.
    func rest() async {
        _ = await loop.run { [slot] in slot.value.core?.rest() }
    }

    /// Returns once what is in the inbox now has been taken.
    func drain() async {
        _ = await loop.run {}
    }

    /// nil before ``run(_:)`` and after the stop.
    func snapshot() async -> CoreSnapshot? {
        await loop.run { [slot] in slot.value.core?.snapshot } ?? nil
    }

    /// As ``snapshot()``.
    /// - Parameter completion: called once, on the core's thread, or on this one after the stop.
    func snapshot(_ completion: @escaping @Sendable (CoreSnapshot?) -> Void) {
        if !loop.execute({ [slot] in completion(slot.value.core?.snapshot) }) { completion(nil) }
    }

    func stop() async {
        _ = await loop.run { [slot] in
            slot.value.core = nil
            slot.value.watchdog = nil
        }
        await loop.stopAndWait()
    }
}
