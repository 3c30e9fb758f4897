import Glibc

/// Runs a ``ScreenProgram`` on a terminal, on the calling thread: reads keys, signals and events, and draws frames.
public struct ScreenLoop {
    /// Why the loop ended.
    public enum Ending: Equatable, Sendable {
        case over
        /// SIGINT, SIGTERM or SIGHUP.
        case signal(Int32)
        /// The terminal disconnected.
        case gone
    }

    /// The shortest interval between frames.
    static let frameInterval = Duration.milliseconds(100)
    /// The time allowed for the bytes of one key. Even on a slow line they arrive in one packet.
    static let keyPatience = Duration.milliseconds(100)

    private let device: TerminalDevice
    private let traits: TerminalTraits
    private let clock: () -> ScreenTime

    public init(device: TerminalDevice, traits: TerminalTraits, clock: @escaping () -> ScreenTime = Self.now) {
        self.device = device
        self.traits = traits
        self.clock = clock
    }

    public static func now() -> ScreenTime {
        var (uptime, wall) = (timespec(), timespec())
        clock_gettime(CLOCK_MONOTONIC, &uptime)
        clock_gettime(CLOCK_REALTIME, &wall)
        return ScreenTime(
            uptime: .seconds(uptime.tv_sec) + .nanoseconds(uptime.tv_nsec),
            wallMilliseconds: Int64(wall.tv_sec) * 1000 + Int64(wall.tv_nsec) / 1_000_000)
    }

    /// Returns when the program ends, with the terminal restored.
    public func run<Program: ScreenProgram>(
        _ program: inout Program, inbox: ScreenInbox<Program.Event>, carryOut: (Program.Effect) -> Void
    ) throws(TerminalError) -> Ending {
        let signals = try TerminalSignals()
        try device.takeOver()
        // Signals are caught until the terminal is restored: a second one must not end the process earlier.
        defer { withExtendedLifetime(signals) { device.exit() } }
        var state = LoopState(nextTick: clock().uptime)
        while true {
            if program.isOver { return .over }
            let effects = step(&program, inbox, signals, &state)
            for effect in effects { carryOut(effect) }
            if let ending = state.ending { return ending }
            if state.isSuspending {
                state.isSuspending = false
                device.exit()
                signals.suspend()
                try device.takeOver()
                state.forgetScreen()
            }
        }
    }

    private struct LoopState {
        var decoder = KeyDecoder()
        var keyDeadline: Duration?
        var nextTick: Duration
        var nextFrame = Duration.zero
        /// Whether an event arrived since the last frame.
        var isDirty = true
        /// The frame on the terminal.
        var shown: ScreenBuffer?
        var ending: Ending?
        var isSuspending = false

        init(nextTick: Duration) { self.nextTick = nextTick }

        mutating func forgetScreen() {
            shown = nil
            isDirty = true
        }
    }

    private func step<Program: ScreenProgram>(
        _ program: inout Program, _ inbox: ScreenInbox<Program.Event>, _ signals: TerminalSignals,
        _ state: inout LoopState
    ) -> [Program.Effect] {
        var polls = [
            pollfd(
                fd: device.descriptor, events: Int16(device.isBlocked ? POLLIN | POLLOUT : POLLIN), revents: 0),
            pollfd(fd: inbox.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: signals.descriptor, events: Int16(POLLIN), revents: 0),
        ]
        _ = poll(&polls, UInt(polls.count), timeout(state))
        let time = clock()
        if polls[2].revents != 0 { take(signals.take(), &state) }
        if polls[0].revents & Int16(POLLOUT) != 0 { device.flush() }
        var effects: [Program.Effect] = []
        for key in keys(polls[0].revents, time, &state) {
            if key == .control("z") { state.isSuspending = true } else { effects += program.pressed(key, at: time) }
            state.isDirty = true
        }
        if polls[1].revents != 0 {
            for event in inbox.take() { effects += program.received(event, at: time) }
            state.isDirty = true
        }
        if time.uptime >= state.nextTick {
            effects += program.passed(at: time)
            state.nextTick = time.uptime + .seconds(1)
            state.isDirty = true
        }
        if !program.isOver, state.ending == nil, !state.isSuspending { draw(&program, time, &state) }
        return effects
    }

    /// The milliseconds until the next deadline.
    private func timeout(_ state: LoopState) -> Int32 {
        var due = state.nextTick
        if let deadline = state.keyDeadline { due = min(due, deadline) }
        if state.isDirty, !device.isBlocked { due = min(due, state.nextFrame) }
        let left = due - clock().uptime
        let milliseconds = left.components.seconds * 1000 + left.components.attoseconds / 1_000_000_000_000_000
        // Rounded up: a remainder below 1 ms would make the loop spin.
        return Int32(clamping: left <= .zero ? 0 : milliseconds + 1)
    }

    private func take(_ signals: [Int32], _ state: inout LoopState) {
        for signal in signals {
            switch signal {
            case SIGINT, SIGTERM, SIGHUP: state.ending = state.ending ?? .signal(signal)
            case SIGTSTP: state.isSuspending = true
            case SIGCONT:
                // After a SIGSTOP: another program may have changed the terminal.
                device.resume()
                state.forgetScreen()
            default: state.forgetScreen()
            }
        }
    }

    private func keys(_ events: Int16, _ time: ScreenTime, _ state: inout LoopState) -> [Key] {
        var keys: [Key] = []
        if events & Int16(POLLIN | POLLHUP | POLLERR) != 0 {
            guard let bytes = device.read() else {
                state.ending = state.ending ?? .gone
                return []
            }
            keys = state.decoder.take(bytes)
            state.keyDeadline = state.decoder.isWaiting ? time.uptime + Self.keyPatience : nil
        } else if let deadline = state.keyDeadline, time.uptime >= deadline {
            keys = state.decoder.timedOut()
            state.keyDeadline = nil
        }
        return keys
    }

    /// Draws nothing while the terminal has not accepted the previous frame: intermediate frames are skipped.
    private func draw<Program: ScreenProgram>(
        _ program: inout Program, _ time: ScreenTime, _ state: inout LoopState
    ) {
        guard state.isDirty, time.uptime >= state.nextFrame, !device.isBlocked else { return }
        let size = device.size
        var buffer = ScreenBuffer(width: size.width, height: size.height, isUnicode: traits.isUnicode)
        program.draw(into: &buffer, at: time)
        let bytes = FrameWriter.bytes(from: state.shown, to: buffer, hasColour: traits.hasColour)
        state.shown = buffer
        state.isDirty = false
        state.nextFrame = time.uptime + Self.frameInterval
        if !bytes.isEmpty { device.send(bytes) }
    }
}
