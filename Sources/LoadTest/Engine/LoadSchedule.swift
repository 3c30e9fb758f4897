/// When the parts of a run begin and end.
///
/// ```
/// start ─ ramp ─▶ rampEnd ─ warm-up ─▶ warmUpEnd ─ the measured part ─▶ end
/// ```
struct LoadSchedule: Sendable {
    let start, rampEnd, warmUpEnd: ContinuousClock.Instant
    private(set) var end: ContinuousClock.Instant

    init(_ plan: LoadPlan, start: ContinuousClock.Instant) {
        self.start = start
        rampEnd = start + plan.ramp
        // Of sessions all count, those of the ramp too.
        warmUpEnd = plan.scenario == .register ? start : rampEnd + plan.warmUp
        end = rampEnd + plan.warmUp + plan.duration
    }

    /// Ends early.
    mutating func cut(at instant: ContinuousClock.Instant) { end = min(end, max(start, instant)) }

    /// The measured part; zero when it was cut before it began.
    var measured: Duration { max(.zero, warmUpEnd.duration(to: end)) }

    /// Whether what began at `instant` counts.
    func counts(_ instant: ContinuousClock.Instant) -> Bool { instant >= warmUpEnd && instant < end }

    /// The next end of a second after `instant`; nil after the end. Seconds count from the start, and again from the
    /// start of the measured part, so that none belongs to both.
    func nextTick(after instant: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        guard instant < end else { return nil }
        let isMeasuring = instant >= warmUpEnd
        let origin = isMeasuring ? warmUpEnd : start
        if !isMeasuring, end <= warmUpEnd { return end }
        let whole = origin.duration(to: instant).components.seconds
        return min(origin + .seconds(whole + 1), isMeasuring ? end : warmUpEnd)
    }

    func phase(at instant: ContinuousClock.Instant) -> LoadProgress.Phase {
        if instant < rampEnd { return .ramp }
        if instant < warmUpEnd { return .warmUp }
        return instant < end ? .measuring : .draining
    }
}
