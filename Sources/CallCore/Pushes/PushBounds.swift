import CallVocabulary
import DequeModule

/// So many at once, then one for each equal part of a window: the generic cell rate algorithm (ITU-T I.371) with one
/// instant of state.
struct RateBound {
    /// When the whole burst may be had again; nil, or in the past, while it may be had now.
    private var fullAt: Instant?

    /// - Returns: nil when one more is within the bound.
    func nextAllowed(at now: Instant, _ burst: Int, in window: Duration) -> Instant? {
        // A clock that was set back has left a time that no burst reaches.
        guard let fullAt, fullAt <= now + window else { return nil }
        let next = fullAt + (window / burst - window)
        return next > now ? next : nil
    }

    /// Counts what another has spent as well.
    mutating func take(over other: RateBound) {
        guard let theirs = other.fullAt else { return }
        fullAt = max(fullAt ?? theirs, theirs)
    }

    mutating func spend(at now: Instant, _ burst: Int, in window: Duration) {
        let start = fullAt.map { $0 <= now + window ? max($0, now) : now } ?? now
        fullAt = start + window / burst
    }
}

/// The bounds of pairs: one user who calls one other. Only pairs of the last window are kept.
struct PairBounds {
    private struct Pair: Hashable {
        let caller: Handle
        let callee: Handle
    }

    private struct Spent {
        let pair: Pair
        let at: Instant
    }

    /// With more the oldest are forgotten; the bounds of devices and callers hold all the same.
    private static let most = 100_000

    private var bounds: [Pair: RateBound] = [:]
    /// In the order of time; a pair stands here as often as it was spent.
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

    /// A bound is full again one window after it was spent last at the latest.
    private mutating func forgetFirst() {
        let pair = spent.removeFirst().pair
        let left = (times[pair] ?? 1) - 1
        times[pair] = left == 0 ? nil : left
        if left == 0 { bounds[pair] = nil }
    }
}

/// The bounds of how often calls push: far above what people do, and below what an attacker wants.
extension CallCore {
    /// A list longer than this is not looked through before the invite is taken.
    private static let fewCallees = 16

    /// Why an invite is refused: everybody it could reach would have to be pushed, and that is too often.
    /// - Returns: the bound, and when it allows the next; nil for an invite that is within the bounds.
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

    /// The bound that keeps a push to the device for this call back, and until when.
    func pushBound(of device: Device, in call: Call) -> (limit: CoreLimit, until: Instant)? {
        if call.hasPushed { return deviceBound(of: device) }
        return pushBound(of: device, call.callerDevice.user, pair: pair(in: call))
    }

    /// Counts a push of this leg.
    func spendPush(of leg: Leg) {
        let (call, window) = (leg.call, timers.pushWindow)
        leg.device.pushBound.spend(at: now, limits.pushesPerDevice, in: window)
        guard !call.hasPushed else { return }
        call.hasPushed = true
        call.callerDevice.user.pushBound.spend(at: now, limits.pushingCallsPerCaller, in: window)
        guard let callee = pair(in: call) else { return }
        pairBounds.spend(call.caller.user, callee, at: now, limits.pushingCallsPerPair, in: window)
    }

    /// The callee of a call from one to one other. A call to several counts for its caller, and for each device.
    private func pair(in call: Call) -> Handle? { call.callees.isOne ? call.callees.handles.first : nil }

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
