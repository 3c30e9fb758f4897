import CallVocabulary
import Synchronization

/// The server's two times: the monotonic timeline, for deadlines, and wall time, which is sent, stored and signed.
///
/// - **The timeline** (``now()``) is `CLOCK_BOOTTIME` with a fixed origin. It never goes back, continues during
///   suspension, and is not affected by setting the system clock. The core, the push client and all timers use it, so
///   setting the clock neither fires nor delays a deadline. Wake tokens use it too: the server that mints one also
///   checks it, and a change of the clock must not expire it.
/// - **Wall time** is the system clock. ``wallTime()`` reads it, for times that others compare with their own clocks:
///   claims of JWTs, provider tokens, OAuth assertions, expiry of certificates. Times that are stored or sent to
///   clients are times of the timeline plus the ``offset`` (``wall(_:)``). In a realm it is the database's clock, as
///   the last renewal of the lease found it, counted on by `CLOCK_BOOTTIME`: setting the home's clock changes nothing.
///
/// ``check()`` compares the two once a second, on the core's thread. A difference of half a second or more is a step:
/// it changes the offset, and the core persists all open deadlines again, so that a restart finds the right times. Past
/// events of a call keep the wall times that they had.
///
/// Within one boot the timeline continues from one process to the next (``ClockAnchor``), so that a change of the clock
/// while no server runs is detected too. May be used from any thread, except ``check()``.
public final class ServerClock: Sendable {
    /// A smaller difference is measurement error, not a step.
    static let smallestStep = Duration.milliseconds(500)
    /// A shorter suspension is ignored: timers may be that late anyway.
    static let shortestSuspension = Duration.seconds(1)

    /// A detected change of the clocks.
    public enum Change: Equatable, Sendable {
        /// The system clock was set; positive means forward.
        case stepped(by: Duration)
        case suspended(for: Duration)
    }

    /// Counters of changes since the start.
    struct Figures: Equatable, Sendable {
        var stepsForward: UInt64 = 0
        var stepsBackward: UInt64 = 0
        var suspensions: UInt64 = 0
        var suspended = Duration.zero
    }

    private struct State {
        var figures = Figures()
        /// Total suspension since boot, in milliseconds.
        var asleep: Int64
    }

    private let sources: ClockSources
    /// The timeline at boot, in milliseconds.
    let origin: Int64
    private let currentOffset: Atomic<Int64>
    private let state: Mutex<State>

    /// - Parameter anchor: the clock of the last process; used if it is of this boot.
    public init(_ sources: ClockSources = .system, anchor: ClockAnchor? = nil) {
        self.sources = sources
        if let anchor, anchor.boot != nil, anchor.boot == sources.boot {
            origin = anchor.origin
            currentOffset = Atomic(anchor.offset)
        } else {
            origin = sources.wall() - sources.elapsed()
            currentOffset = Atomic(0)
        }
        state = Mutex(State(asleep: sources.elapsed() - sources.awake()))
    }

    /// The present time of the timeline.
    public func now() -> Instant { Instant(milliseconds: origin + sources.elapsed()) }

    /// The present time of the system clock.
    public func wallTime() -> Instant { Instant(milliseconds: sources.wall()) }

    /// Wall time minus the timeline, as of the last ``check()``.
    public var offset: Duration { .milliseconds(currentOffset.load(ordering: .acquiring)) }

    /// Converts a time of the timeline to the wall time that is sent, stored and signed.
    public func wall(_ instant: Instant) -> Instant { instant + offset }

    /// ``now()`` as wall time.
    public func time() -> Instant { wall(now()) }

    var figures: Figures { state.withLock { $0.figures } }

    /// The clock state for the next process.
    var anchor: ClockAnchor {
        ClockAnchor(boot: sources.boot, origin: origin, offset: currentOffset.load(ordering: .acquiring))
    }

    /// Compares all clocks, and adopts changes of the system clock. Call it once a second, from one thread.
    /// - Returns: the changes since the last call.
    func check() -> [Change] {
        let (elapsed, awake, wall) = (sources.elapsed(), sources.awake(), sources.wall())
        let old = currentOffset.load(ordering: .acquiring)
        let step = Duration.milliseconds(wall - (origin + elapsed) - old)
        var changes: [Change] = []
        state.withLock { state in
            let slept = Duration.milliseconds(elapsed - awake - state.asleep)
            if slept >= Self.shortestSuspension {
                state.asleep = elapsed - awake
                state.figures.suspensions += 1
                state.figures.suspended += slept
                changes.append(.suspended(for: slept))
            }
            guard step >= Self.smallestStep || step <= .zero - Self.smallestStep else { return }
            currentOffset.store(old + step.wholeMilliseconds, ordering: .releasing)
            if step > .zero { state.figures.stepsForward += 1 } else { state.figures.stepsBackward += 1 }
            changes.append(.stepped(by: step))
        }
        return changes
    }
}
