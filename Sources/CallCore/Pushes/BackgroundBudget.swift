import CallVocabulary

/// When a device was sent background pushes, and when it may be sent the next: iOS holds back and drops what exceeds
/// its own budget, so one too many costs more than it brings.
struct BackgroundBudget {
    /// As many as count, oldest first.
    private var sent: [Instant] = []

    /// - Returns: nil when one may be sent at once.
    func nextAllowed(at now: Instant, _ limits: CoreLimits, _ timers: CallTimers) -> Instant? {
        guard sent.count >= limits.backgroundPushes, let oldest = sent.suffix(limits.backgroundPushes).first else {
            return nil
        }
        let next = oldest + timers.backgroundWindow
        return next > now ? next : nil
    }

    mutating func spend(at now: Instant, _ limits: CoreLimits) {
        sent.append(now)
        if sent.count > limits.backgroundPushes { sent.removeFirst(sent.count - limits.backgroundPushes) }
    }

    /// One was certainly not processed after all.
    mutating func giveBack(_ at: Instant) {
        if let index = sent.lastIndex(of: at) { sent.remove(at: index) }
    }
}
