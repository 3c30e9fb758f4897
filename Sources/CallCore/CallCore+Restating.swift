import CallVocabulary

extension CallCore {
    /// Persists every record with a deadline again: live calls, and pushes that wait for an outcome or a report.
    ///
    /// The core's state does not change. The shell calls this when the wall clock is set, because records hold wall
    /// clock times.
    public func restate(now: Instant, effects: inout EffectBuffer) {
        self.now = now
        swap(&self.effects, &effects)
        defer { swap(&self.effects, &effects) }
        for call in calls.values.filter(\.isLive).sorted(by: { $0.id < $1.id }) { persist(call) }
        let lines: [LedgerLine] = Array(pushes.values) + Array(notices.values)
        for record in lines.map(\.record).filter(\.hasDeadline).sorted(by: { $0.id < $1.id }) {
            persist(.push(record))
        }
    }
}

extension PushRecord {
    fileprivate var hasDeadline: Bool {
        switch status {
        case .intended, .sent: true
        case .accepted, .unknown: report == .awaited
        case .rejected, .cancelled, .expired: false
        }
    }
}
