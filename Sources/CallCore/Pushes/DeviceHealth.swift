import CallVocabulary

/// Suspends and probes devices that do not report their pushes.
///
/// After about three VoIP pushes for which an app shows no call, iOS stops delivering them. A device that was off got
/// none of them and is not at fault. So the third consecutive unreported push suspends the device, and the pushes of
/// later real calls probe it from time to time. A device that has another token, for alerts, is probed with the next
/// call already: its caller waits for an answer in any case, where the caller of another device is told at once that
/// nobody can be reached.
extension Device {
    /// A push that the device had to report went unreported.
    /// - Returns: whether that suspends the device.
    func noteUnreported(at now: Instant, _ limits: CoreLimits, _ timers: CallTimers) -> Bool {
        unreportedStreak += 1
        guard unreportedStreak >= limits.unreportedStreak, suspendedAt == nil else { return false }
        suspendedAt = now
        probes = 0
        nextProbeAt = hasOtherToken ? now : now + timers.probePause(after: 0)
        return true
    }

    /// Whether a call may be pushed to a token that does not count for the suspension.
    private var hasOtherToken: Bool {
        tokens.contains { PushDelivery($0.token, for: .call)?.countsUnreported == false }
    }

    /// The app runs: clears the streak and the suspension.
    /// - Returns: whether that changed anything.
    func clearHealth() -> Bool {
        guard unreportedStreak > 0 || suspendedAt != nil else { return false }
        unreportedStreak = 0
        suspendedAt = nil
        probes = 0
        nextProbeAt = nil
        return true
    }

    /// Whether a suspended device may be sent the next push that it must report. A record without a time was written
    /// before probes existed.
    func isProbeDue(at now: Instant) -> Bool { nextProbeAt.map { $0 <= now } ?? true }

    func probe(at now: Instant, _ timers: CallTimers) {
        probes += 1
        nextProbeAt = now + timers.probePause(after: hasOtherToken ? probes - 1 : probes)
    }

    /// Takes back a probe that certainly did not reach the device: the next push may be one.
    func takeBackProbe(at now: Instant) {
        guard suspendedAt != nil else { return }
        probes = max(0, probes - 1)
        nextProbeAt = now
    }
}

extension CallTimers {
    /// The pause after so many probes.
    func probePause(after probes: Int) -> Duration { probePauses[min(probes, probePauses.count - 1)] }
}
