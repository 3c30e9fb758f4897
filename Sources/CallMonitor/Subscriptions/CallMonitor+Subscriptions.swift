import AdminProtocol
import CallCore
import CallVocabulary

/// Subscriptions to calls.
///
/// A subscription is two positions, one in the change log and one in the endings. A slow subscriber therefore has no
/// queue. Each step delivers entries after these positions: at first all live calls, later each changed call once, in
/// its present state.
extension CallMonitor {
    /// The most entries examined in one step.
    private static let mostLookedAt = 5000

    /// Adds a subscription; the first step returns the first live calls.
    public func subscribe(_ key: SubscriptionKey, user: Handle?, interval: Duration, now: Instant) {
        subscriptions[key] = CallSubscription(
            user: user, interval: interval, number: picture.changes.last, now: now)
    }

    /// Removes the subscription, if it exists.
    public func unsubscribe(_ key: SubscriptionKey) { subscriptions[key] = nil }

    public func unsubscribeAll(of connection: UInt64) {
        subscriptions = subscriptions.filter { $0.key.connection != connection }
    }

    public func subscriptions(of connection: UInt64) -> Int {
        subscriptions.keys.count { $0.connection == connection }
    }

    /// The subscriptions that may have updates, each with the earliest time for the next one.
    public var waitingSubscriptions: [(key: SubscriptionKey, from: Instant)] {
        subscriptions.compactMap { key, subscription in
            guard !subscription.isComplete || subscription.toldChanges < picture.changes.last else { return nil }
            return (key, isUrgent(subscription) ? Instant(milliseconds: 0) : subscription.nextAt)
        }
    }

    /// Returns the next update: at most one frame.
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

    /// Whether the interval is ignored: the initial state is incomplete, or endings would be lost.
    private func isUrgent(_ subscription: CallSubscription) -> Bool {
        !subscription.isComplete
            || picture.endings.count(after: subscription.toldEndings) > picture.endings.capacity / 2
    }

    /// - Returns: whether all updates are delivered.
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
        // Skips change numbers without a live call.
        subscription.toldChanges = picture.changes.last
        subscription.toldEndings = picture.changes.last
        return true
    }
}
