import CallVocabulary
import DequeModule

/// A rate limit: a burst, then one for each equal part of a window. The generic cell rate algorithm (ITU-T I.371),
/// whose state is one instant.
///
/// It counts in nanoseconds: of a large burst a part is less than a millisecond, and many parts must not be free.
struct RateBound {
    /// When the whole burst is available again; nil or past when it is available now.
    private var fullAt: Instant?
    /// So many nanoseconds after ``fullAt``, less than a millisecond.
    private var rest: UInt32 = 0

    /// When so many at once are allowed.
    /// - Parameter count: at most `burst`.
    /// - Returns: nil when they are allowed now.
    func nextAllowed(_ count: Int = 1, at now: Instant, _ burst: Int, in window: Duration) -> Instant? {
        // Ignores a time that no burst can reach: it remains from before the clock was set back.
        guard let fullAt, fullAt >= now, fullAt <= now + window else { return nil }
        let missing = (window / burst * count - window).wholeNanoseconds
        let wait = (fullAt - now).wholeNanoseconds + Int64(rest) + missing
        return wait > 0 ? now + .nanoseconds(wait + 999_999) : nil
    }

    /// Whether nothing is spent, under the same rule.
    func isFull(at now: Instant, in window: Duration) -> Bool {
        fullAt.map { $0 <= now || $0 > now + window } ?? true
    }

    /// Merges what `other` has spent into this bound.
    mutating func take(over other: RateBound) {
        guard let theirs = other.fullAt else { return }
        if let fullAt, (fullAt, rest) >= (theirs, other.rest) { return }
        self = other
    }

    /// Never spends more than there is.
    mutating func spend(_ count: Int = 1, at now: Instant, _ burst: Int, in window: Duration) {
        var (start, nanoseconds) = (now, (window / burst * count).wholeNanoseconds)
        if let fullAt, fullAt >= now, fullAt <= now + window {
            start = fullAt
            nanoseconds += Int64(rest)
        }
        let spent = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000)
        let full = start + .milliseconds(spent.quotient)
        fullAt = min(full, now + window)
        rest = full < now + window ? UInt32(spent.remainder) : 0
    }
}

extension Duration {
    /// Rounded toward zero.
    fileprivate var wholeNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}

/// The bounds of the pairs of one caller and each callee. Only pairs of the last window are kept.
struct PairBounds {
    private struct Spent {
        let callee: Handle
        let at: Instant
    }

    /// Beyond this number the oldest pairs are dropped; the bounds of devices and of the caller still apply.
    private static let most = 10_000

    private var bounds: [Handle: RateBound] = [:]
    /// In chronological order; a callee occurs as often as the pair was spent.
    private var spent: Deque<Spent> = []
    private var times: [Handle: Int] = [:]

    var count: Int { bounds.count }

    func nextAllowed(_ callee: Handle, at now: Instant, _ burst: Int, in window: Duration) -> Instant? {
        bounds[callee]?.nextAllowed(at: now, burst, in: window)
    }

    /// Whether nothing is spent, under the same rule as ``RateBound/isFull(at:in:)``.
    func isFull(at now: Instant, in window: Duration) -> Bool {
        spent.last.map { $0.at + window <= now || $0.at > now } ?? true
    }

    mutating func spend(_ callee: Handle, at now: Instant, _ burst: Int, in window: Duration) {
        while let first = spent.first, spent.count >= Self.most || first.at + window <= now { forgetFirst() }
        bounds[callee, default: RateBound()].spend(at: now, burst, in: window)
        spent.append(Spent(callee: callee, at: now))
        times[callee, default: 0] += 1
    }

    /// Forgets the oldest entry: at most one window after its last use a bound is full again.
    private mutating func forgetFirst() {
        let callee = spent.removeFirst().callee
        let left = (times[callee] ?? 1) - 1
        times[callee] = left == 0 ? nil : left
        if left == 0 { bounds[callee] = nil }
    }
}

/// The rate limits of calls that cause pushes: far above normal use, and low enough to stop abuse. They hold for each
/// device and each user that a call pushes, whether the caller named the user alone, in a list or by a group, or a callee
/// forwarded the call.
extension CallCore {
    /// The bound for which an invite is refused: every reachable device would need a push beyond its bounds.
    /// - Returns: the bound, and when it allows the next call; nil when the invite is within the bounds.
    func pushRefusal(of callees: Callees, from caller: Device) -> (limit: CoreLimit, until: Instant)? {
        var refusal: (limit: CoreLimit, until: Instant)?
        for handle in callees.handles {
            for device in directory.user(handle)?.devices ?? [] where device !== caller {
                if device.session?.scope == .full { return nil }
                guard device.token(for: .call, at: now) != nil else { continue }
                guard let bound = pushBound(of: device, caller.user, asFirst: (true, true)) else { return nil }
                if refusal.map({ bound.until < $0.until }) ?? true { refusal = bound }
            }
        }
        return refusal
    }

    /// The bound that delays a push to the device for this call, and until when.
    func pushBound(of device: Device, in call: Call) -> (limit: CoreLimit, until: Instant)? {
        pushBound(of: device, call.callerDevice.user, asFirst: firsts(to: device.user, in: call))
    }

    /// Counts a push of this leg against all bounds. Call it before the leg gets its push.
    func spendPush(of leg: Leg) {
        let (call, caller, window) = (leg.call, leg.call.callerDevice.user, timers.pushWindow)
        let isFirst = firsts(to: leg.device.user, in: call)
        leg.device.pushBound.spend(at: now, limits.pushesPerDevice, in: window)
        caller.devicePushBound.spend(at: now, limits.pushesPerCaller, in: window)
        if isFirst.ofCall { caller.pushBound.spend(at: now, limits.pushingCallsPerCaller, in: window) }
        if isFirst.ofPair {
            caller.pairBounds.spend(leg.device.key.user, at: now, limits.pushingCallsPerPair, in: window)
        }
        call.notePush(to: leg.device.user)
    }

    /// Whether a push to the user is the first of the pair in this call, and counts as a call that pushes: a list is a
    /// call to each of its users, a group, which an administrator has made, is one call.
    private func firsts(to user: User, in call: Call) -> (ofPair: Bool, ofCall: Bool) {
        guard !call.hasPushed(to: user) else { return (false, false) }
        if case .group = call.target { return (true, !call.hasPushed) }
        return (true, true)
    }

    private func pushBound(of device: Device, _ caller: User, asFirst isFirst: (ofPair: Bool, ofCall: Bool)) -> (
        limit: CoreLimit, until: Instant
    )? {
        let window = timers.pushWindow
        var bound: (limit: CoreLimit, until: Instant)?
        func consider(_ limit: CoreLimit, _ until: Instant?) {
            if let until, bound.map({ $0.until < until }) ?? true { bound = (limit, until) }
        }
        consider(.pushesPerDevice, device.pushBound.nextAllowed(at: now, limits.pushesPerDevice, in: window))
        consider(.pushesPerCaller, caller.devicePushBound.nextAllowed(at: now, limits.pushesPerCaller, in: window))
        if isFirst.ofCall {
            consider(
                .pushingCallsPerCaller, caller.pushBound.nextAllowed(at: now, limits.pushingCallsPerCaller, in: window))
        }
        if isFirst.ofPair {
            consider(
                .pushingCallsPerPair,
                caller.pairBounds.nextAllowed(device.key.user, at: now, limits.pushingCallsPerPair, in: window))
        }
        return bound
    }
}
