import EventLoop
import LibWebSockets
import SoftphoneSession

/// The thread of phones: a loop with one libwebsockets context, shared by any number of phones.
///
/// Thousands of phones of a load test share one runtime. A phone retains its runtime.
public final class SoftphoneRuntime: Sendable {
    public let loop: EventLoop
    private let ownsLoop: Bool
    let state: LoopBound<RuntimeState>

    /// Uses an existing loop. The caller starts it, and stops it after the phones are released.
    /// - Parameter trust: the trust anchors for `wss` servers.
    public init(loop: EventLoop, trust: LWSContext.Trust = .system) {
        self.loop = loop
        ownsLoop = false
        state = LoopBound(RuntimeState(loop: loop, trust: trust), on: loop)
    }

    /// Makes a loop, which ends with the runtime.
    /// - Parameters:
    ///   - name: the thread's name, shown by `ps -L`.
    ///   - trust: the trust anchors for `wss` servers.
    ///   - scheduling: how the kernel schedules the thread.
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

/// Prevents the release of a stopped loop's objects on another thread.
final class Remains {
    private let value: Any

    private init(_ value: Any) { self.value = value }

    /// Leaks `value` on purpose: the loop stopped before its phones were released.
    static func keep(_ value: Any) {
        _ = Unmanaged.passRetained(Remains(value))
    }
}

/// Holds the context, which the first connecting phone creates. On the loop's thread.
final class RuntimeState {
    private let loop: EventLoop
    private let trust: LWSContext.Trust
    private var context: LWSContext?
    /// A buffer for the phone that performs effects: idle phones hold none, and busy phones allocate none.
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
