import CallVocabulary
import DequeModule

/// A rate limit: a burst, then one for each equal part of a window. The generic cell rate algorithm (ITU-T I.371),
/// whose state is one instant.
struct RateBound {
    /// When the whole burst is available again; nil or past when it is available now.
    private var fullAt: Instant?

    /// When the next one is allowed.
    /// - Returns: nil when it is allowed now.
    func nextAllowed(at now: Instant, _ burst: Int, in window: Duration) -> Instant? {
        // Ignores a time that no burst can reach: it remains from before the clock was set back.
        guard let fullAt, fullAt <= now + window else { return nil }
        let next = fullAt + (window / burst - window)
        return next > now ? next : nil
    }

    /// Whether nothing is spent, under the same rule.
    func isFull(at now: Instant, in window: Duration) -> Bool {
        fullAt.map { $0 <= now || $0 > now + window } ?? true
    }

    /// Merges what `other` has spent into this bound.
    mutating func take(over other: RateBound) {
        guard let theirs = other.fullAt else { return }
        fullAt = max(fullAt ?? theirs, theirs)
    }

    mutating func spend(at now: Instant, _ burst: Int, in window: Duration) {
        let start = fullAt.map { $0 <= now + window ? max($0, now) : now } ?? now
        fullAt = start + window / burst
    }
}

/// The bounds of pairs of a caller and a callee. Only pairs of the last window are kept.
struct PairBounds {
    private struct Pair: Hashable {
        let caller: Handle
        let callee: Handle
    }

    private struct Spent {
        let pair: Pair
        let at: Instant
    }

    /// Beyond this number the oldest pairs are dropped; the bounds of devices and callers still apply.
    private static let most = 100_000

    private var bounds: [Pair: RateBound] = [:]
    /// In chronological order; a pair occurs as often as it was spent.
    private var spent: Deque<Spent> = []
    private var times: [Pair: Int] = [:]

    var count: Int { bounds.count }

    func nextAllowed(_ caller: Handle, _ callee: Handle, at now: Instant, _ burst: Int, in window: Duration)
        -> Instant?
    {
        bounds[Pair(caller: caller, callee: callee)]?.nextAllowed(at: now, burst, in: window)
    }

    mutating func spend(_ caller: Handle, _ callee: Handle, at now: Instant, _ burst: Int, in window: Duration) {
        while let first = spent.first, spent.count >= Self.most || first.at + window <= now { forgetFirst() }
        let pair = Pair(caller: caller, callee: callee)
        bounds[pair, default: RateBound()].spend(at: now, burst, in: window)
        spent.append(Spent(pair: pair, at: now))
        times[pair, default: 0] += 1
    }

    /// Forgets the oldest entry: at most one window after its last use a bound is full again.
    private mutating func forgetFirst() {
        let pair = spent.removeFirst().pair
        let left = (times[pair] ?? 1) - 1
        times[pair] = left == 0 ? nil : left
        if left == 0 { bounds[pair] = nil }
    }
}

/// The rate limits of calls that cause pushes: far above normal use, and low enough to stop abuse.
extension CallCore {
    /// Longer lists of callees are not checked before the invite is accepted.
    private static let fewCallees = 16

    /// The bound for which an invite is refused: every reachable device would need a push beyond its bounds.
    /// - Returns: the bound, and when it allows the next call; nil when the invite is within the bounds.
    func pushRefusal(of callees: Callees, from caller: Device) -> (limit: CoreLimit, until: Instant)? {
        guard callees.handles.count <= Self.fewCallees else { return nil }
        var refusal: (limit: CoreLimit, until: Instant)?
        for handle in callees.handles {
            for device in directory.user(handle)?.devices ?? [] where device !== caller {
                if device.session?.scope == .full { return nil }
                guard device.token(for: .call, at: now) != nil else { continue }
                let pair = callees.isOne ? handle : nil
                guard let bound = pushBound(of: device, caller.user, pair: pair) else { return nil }
                if refusal.map({ bound.until < $0.until }) ?? true { refusal = bound }
            }
        }
        return refusal
    }

    /// The bound that delays a push to the device for this call, and until when.
    func pushBound(of device: Device, in call: Call) -> (limit: CoreLimit, until: Instant)? {
        if call.hasPushed { return deviceBound(of: device) }
        return pushBound(of: device, call.callerDevice.user, pair: pair(in: call))
    }

    /// Counts a push of this leg against all bounds.
    func spendPush(of leg: Leg) {
        let (call, window) = (leg.call, timers.pushWindow)
        leg.device.pushBound.spend(at: now, limits.pushesPerDevice, in: window)
        guard !call.hasPushed else { return }
        call.hasPushed = true
        call.callerDevice.user.pushBound.spend(at: now, limits.pushingCallsPerCaller, in: window)
        guard let callee = pair(in: call) else { return }
        pairBounds.spend(call.caller.user, callee, at: now, limits.pushingCallsPerPair, in: window)
    }

    /// The callee of a call to one user. A call to several users counts for its caller and each device only.
    private func pair(in call: Call) -> Handle? {
        call.callees.isOne ? call.callees.handles[call.callees.first] : nil
    }

    private func pushBound(of device: Device, _ caller: User, pair callee: Handle?) -> (
        limit: CoreLimit, until: Instant
    )? {
        let window = timers.pushWindow
        var bound = deviceBound(of: device)
        func consider(_ limit: CoreLimit, _ until: Instant?) {
            if let until, bound.map({ $0.until < until }) ?? true { bound = (limit, until) }
        }
        consider(
            .pushingCallsPerCaller, caller.pushBound.nextAllowed(at: now, limits.pushingCallsPerCaller, in: window))
        if let callee {
            consider(
                .pushingCallsPerPair,
                pairBounds.nextAllowed(caller.handle, callee, at: now, limits.pushingCallsPerPair, in: window))
        }
        return bound
    }

    private func deviceBound(of device: Device) -> (limit: CoreLimit, until: Instant)? {
        device.pushBound.nextAllowed(at: now, limits.pushesPerDevice, in: timers.pushWindow).map {
            (.pushesPerDevice, $0)
        }
    }
}
