import AdminProtocol
import CallCore
import CallVocabulary

/// Telling subscribers what changes.
///
/// A subscription is two places, one in the log of changes and one among the endings: nothing is kept for it, however slow
/// it is. It is told what lies behind them: its first picture, when it has been told nothing; else each call that has
/// changed, once, as it is now.
extension CallMonitor {
    /// Entries looked at in one step at most.
    private static let mostLookedAt = 5000

    /// The first step brings the first of the calls there are.
    public func subscribe(_ key: SubscriptionKey, user: Handle?, interval: Duration, now: Instant) {
        subscriptions[key] = CallSubscription(
            user: user, interval: interval, number: picture.changes.last, now: now)
    }

    /// Does nothing when there is none.
    public func unsubscribe(_ key: SubscriptionKey) { subscriptions[key] = nil }

    /// Ends all of a connection.
    public func unsubscribeAll(of connection: UInt64) {
        subscriptions = subscriptions.filter { $0.key.connection != connection }
    }

    /// Subscriptions of a connection.
    public func subscriptions(of connection: UInt64) -> Int {
        subscriptions.keys.count { $0.connection == connection }
    }

    /// Those that there may be something to tell, each with the time from which on it may be told.
    public var waitingSubscriptions: [(key: SubscriptionKey, from: Instant)] {
        subscriptions.compactMap { key, subscription in
            guard !subscription.isComplete || subscription.toldChanges < picture.changes.last else { return nil }
            return (key, isUrgent(subscription) ? Instant(milliseconds: 0) : subscription.nextAt)
        }
    }

    /// What is to be told next: one frame's worth.
    public func step(_ key: SubscriptionKey, now: Instant) -> SubscriptionStep {
        guard var subscription = subscriptions[key] else { return .idle }
        if picture.endings.forgotten > subscription.toldEndings {
            subscription.beginAnew(at: picture.changes.last)
        } else if now < subscription.nextAt, !isUrgent(subscription) {
            return .idle
        }
        var frame = CallsChanged(
            subscription: key.number, calls: [], gone: [], isComplete: false, isReset: subscription.isReset)
        let isAtEnd = fill(&frame, &subscription)
        let becameComplete = isAtEnd && !subscription.isComplete
        subscription.isComplete = subscription.isComplete || isAtEnd
        frame.isComplete = subscription.isComplete
        defer { subscriptions[key] = subscription }
        guard !frame.calls.isEmpty || becameComplete || subscription.isReset else { return isAtEnd ? .idle : .more }
        subscription.isReset = false
        if isAtEnd { subscription.nextAt = now + subscription.interval }
        return .notification(frame)
    }

    /// Waits for no interval: its picture is not complete, or it would miss endings.
    private func isUrgent(_ subscription: CallSubscription) -> Bool {
        !subscription.isComplete
            || picture.endings.count(after: subscription.toldEndings) > picture.endings.capacity / 2
    }

    /// - Returns: whether everything is told.
    private func fill(_ frame: inout CallsChanged, _ subscription: inout CallSubscription) -> Bool {
        var (room, looked, isFull) = (FrameRoom(), 0, false)
        func take(_ call: LiveCall) -> Bool {
            guard subscription.user.map({ call.concerns($0) }) ?? true else { return true }
            isFull = !room.take(call.record)
            if !isFull { frame.calls.append(call.view) }
            return !isFull
        }
        picture.endings.each(after: subscription.toldEndings) { number, call in
            looked += 1
            let before = frame.calls.count
            guard take(call) else { return false }
            if frame.calls.count > before { frame.gone.append(call.record.id) }
            subscription.toldEndings = number
            return true
        }
        guard !isFull else { return false }
        picture.changes.each(after: subscription.toldChanges) { number, call in
            guard looked < Self.mostLookedAt else { return false }
            looked += 1
            if let call, !take(call) { return false }
            subscription.toldChanges = number
            return true
        }
        guard !isFull, !picture.changes.hasMore(after: subscription.toldChanges) else { return false }
        // Also past changes that left no call behind.
        subscription.toldChanges = picture.changes.last
        subscription.toldEndings = picture.changes.last
        return true
    }
}
