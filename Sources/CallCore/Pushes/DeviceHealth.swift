import CallVocabulary

/// Whether a device reports what it is pushed, and what follows where it does not.
///
/// iOS stops delivering VoIP pushes to an app that shows no call for about three of them. A device that was off has got
/// none of them and did nothing wrong. So the third unreported push in a row suspends, and now and then the push of a real
/// call probes.
extension Device {
    /// A push went unreported that the device owed a report for.
    /// - Returns: whether the device is suspended from now on.
    func noteUnreported(at now: Instant, _ limits: CoreLimits, _ timers: CallTimers) -> Bool {
        unreportedStreak += 1
        guard unreportedStreak >= limits.unreportedStreak, suspendedAt == nil else { return false }
        suspendedAt = now
        probes = 0
        nextProbeAt = now + timers.probePause(after: 0)
        return true
    }

    /// The app runs.
    /// - Returns: whether that is news.
    func clearHealth() -> Bool {
        guard unreportedStreak > 0 || suspendedAt != nil else { return false }
        unreportedStreak = 0
        suspendedAt = nil
        probes = 0
        nextProbeAt = nil
        return true
    }

    /// Of a suspended device: whether the next push that it would owe a report for is let through. A record without a time
    /// is from before there were probes.
    func isProbeDue(at now: Instant) -> Bool { nextProbeAt.map { $0 <= now } ?? true }

    func probe(at now: Instant, _ timers: CallTimers) {
        probes += 1
        nextProbeAt = now + timers.probePause(after: probes)
    }

    /// The probe certainly did not reach the device: the next push may be one.
    func takeBackProbe(at now: Instant) {
        guard suspendedAt != nil else { return }
        probes = max(0, probes - 1)
        nextProbeAt = now
    }
}

extension CallTimers {
    /// How long a suspended device is left alone after so many probes.
    func probePause(after probes: Int) -> Duration { probePauses[min(probes, probePauses.count - 1)] }
}
