import CallVocabulary
import Synchronization

/// The server's two times: the timeline, by which deadlines run, and wall time, which is said, stored and signed.
///
/// - **The timeline** (``now()``) is `CLOCK_BOOTTIME` with a fixed origin: it never goes back, it goes on while the machine is
///   suspended, and setting the system clock does not move it. The core, the push client and all timers count on it, so
///   a clock that is set makes no deadline fall due and delays none. Wake tokens carry it as well: the server that makes
///   one is the one that checks it, and a clock set in between must not end it.
/// - **Wall time** is the system clock. ``wallTime()`` reads it, for all that others compare with a clock of their own:
///   claims of JWTs, provider tokens, OAuth assertions, ends of certificates. What is stored and what clients are told are
///   times of the timeline with the ``offset`` added (``wall(_:)``).
///
/// The offset is followed: ``check()`` compares the two once a second, on the core's thread. A difference of half a second
/// or more is a step. From then on the offset is the new one, and the core has all deadlines that are open stored again:
/// a restart finds them where they belong. What had happened in a call before a step keeps the wall time that it had.
///
/// Within one boot of the machine the timeline goes on from one process to the next (``ClockAnchor``), so that a clock set
/// while no server runs is noticed like any other. Any thread, but for ``check()``.
public final class ServerClock: Sendable {
    /// Below that a difference is how exactly two clocks are read, not a step.
    static let smallestStep = Duration.milliseconds(500)
    /// Below that nobody misses anything: timers are late by so much anyway.
    static let shortestSuspension = Duration.seconds(1)

    /// Something that the clocks show.
    public enum Change: Equatable, Sendable {
        /// The system clock was set, forward if it is positive.
        case stepped(by: Duration)
        case suspended(for: Duration)
    }

    /// What there was of changes since the start.
    struct Figures: Equatable, Sendable {
        var stepsForward: UInt64 = 0
        var stepsBackward: UInt64 = 0
        var suspensions: UInt64 = 0
        var suspended = Duration.zero
    }

    private struct State {
        var figures = Figures()
        /// How much longer the machine is up than it was awake.
        var asleep: Int64
    }

    private let sources: ClockSources
    /// The timeline's time at the boot of the machine, in milliseconds.
    let origin: Int64
    private let currentOffset: Atomic<Int64>
    private let state: Mutex<State>

    /// - Parameter anchor: where the last process left its clock; counts if it is of this boot.
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

    /// The timeline's time.
    public func now() -> Instant { Instant(milliseconds: origin + sources.elapsed()) }

    /// The system clock's time.
    public func wallTime() -> Instant { Instant(milliseconds: sources.wall()) }

    /// What wall time was ahead of the timeline at the last ``check()``.
    public var offset: Duration { .milliseconds(currentOffset.load(ordering: .acquiring)) }

    /// A time of the timeline as it is said, stored and signed.
    public func wall(_ instant: Instant) -> Instant { instant + offset }

    /// ``now()`` as it is said and stored.
    public func time() -> Instant { wall(now()) }

    var figures: Figures { state.withLock { $0.figures } }

    /// What the next process is to go on from.
    var anchor: ClockAnchor {
        ClockAnchor(boot: sources.boot, origin: origin, offset: currentOffset.load(ordering: .acquiring))
    }

    /// Looks at all clocks, and follows the system's. To be called once a second, by one thread.
    /// - Returns: what has changed since the last call.
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
