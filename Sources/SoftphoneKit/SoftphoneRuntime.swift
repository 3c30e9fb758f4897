import EventLoop
import LibWebSockets
import SoftphoneSession

/// The thread that phones run on: a loop with one libwebsockets context, shared by any number of phones.
///
/// Thousands of phones of a load test share one. A phone keeps its runtime alive.
public final class SoftphoneRuntime: Sendable {
    public let loop: EventLoop
    private let ownsLoop: Bool
    let state: LoopBound<RuntimeState>

    /// Runs on a loop of somebody else, who starts it, and stops it after the phones are gone.
    /// - Parameter trust: which certificates a `wss` server may show.
    public init(loop: EventLoop, trust: LWSContext.Trust = .system) {
        self.loop = loop
        ownsLoop = false
        state = LoopBound(RuntimeState(loop: loop, trust: trust), on: loop)
    }

    /// Runs on a loop of its own, which ends with the runtime.
    /// - Parameters:
    ///   - name: of the thread, as `ps -L` shows it.
    ///   - trust: which certificates a `wss` server may show.
    ///   - scheduling: how the kernel is to treat that thread beside others that want its core.
    /// - Throws: `SystemError` when the process is out of descriptors.
    public init(
        name: String = "softphone", trust: LWSContext.Trust = .system, scheduling: ThreadScheduling = .ordinary
    ) throws {
        loop = try EventLoop(name: name, scheduling: scheduling)
        ownsLoop = true
        state = LoopBound(RuntimeState(loop: loop, trust: trust), on: loop)
        loop.start()
    }

    deinit {
        let state = self.state
        let isRunning = loop.execute { state.value.destroy() }
        if !isRunning { Remains.keep(state) }
        if ownsLoop { loop.stop() }
    }
}

/// Keeps what belongs to a loop that is no more from being released on another thread.
final class Remains {
    private let value: Any

    private init(_ value: Any) { self.value = value }

    /// Leaks `value`, on purpose: the loop was stopped before its phones were gone.
    static func keep(_ value: Any) {
        _ = Unmanaged.passRetained(Remains(value))
    }
}

/// The context, made when the first phone connects. On the loop's thread.
final class RuntimeState {
    private let loop: EventLoop
    private let trust: LWSContext.Trust
    private var context: LWSContext?
    /// A buffer for whichever phone has something to do: thousands of idle ones keep none, and busy ones make none.
    var spareEffects: [SessionEffect] = []

    init(loop: EventLoop, trust: LWSContext.Trust) {
        self.loop = loop
        self.trust = trust
    }

    func clientContext() throws -> LWSContext {
        if let context { return context }
        let made = try LWSContext(loop: loop, role: .client(trust))
        context = made
        return made
    }

    func destroy() {
        context?.destroy()
        context = nil
    }
}

@available(*, unavailable)
extension RuntimeState: Sendable {}
