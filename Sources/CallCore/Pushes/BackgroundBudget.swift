import CallVocabulary

/// The background pushes sent to a device, and when the next may be sent. iOS delays and drops background pushes beyond
/// its own budget, so exceeding it does more harm than good.
struct BackgroundBudget {
    /// The latest ``CoreLimits/backgroundPushes`` send times, oldest first.
    private var sent: [Instant] = []

    /// When the next may be sent.
    /// - Returns: nil when it may be sent at once.
    func nextAllowed(at now: Instant, _ limits: CoreLimits, _ timers: CallTimers) -> Instant? {
        guard sent.count >= limits.backgroundPushes, let oldest = sent.suffix(limits.backgroundPushes).first else {
            return nil
        }
        let next = oldest + timers.backgroundWindow
        return next > now ? next : nil
    }

    /// Whether a push was sent within the window.
    func counts(at now: Instant, _ timers: CallTimers) -> Bool {
        sent.last.map { $0 + timers.backgroundWindow > now } ?? false
    }

    mutating func spend(at now: Instant, _ limits: CoreLimits) {
        sent.append(now)
        if sent.count > limits.backgroundPushes { sent.removeFirst(sent.count - limits.backgroundPushes) }
    }

    /// Removes a push that was certainly not processed.
    mutating func giveBack(_ at: Instant) {
        if let index = sent.lastIndex(of: at) { sent.remove(at: index) }
    }
}
