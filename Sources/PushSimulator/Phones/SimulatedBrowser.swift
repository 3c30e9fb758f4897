import CallVocabulary

/// One subscription of one browser: how the browser and its push service treat pushes. Pure.
///
/// ```
///              push                      30 s without a notification
/// attached ───────────▶ delivered ────────────────────────────────────▶ silent (the third ends the subscription)
///     away ───────────▶ waits for its TTL, or until one with its topic replaces it
/// ```
/// A subscription is `userVisibleOnly`: the page promised a notification for each push. Chrome shows a notification of
/// its own for a push without one. WebKit counts such pushes, never resets the count, and ends the subscription at the
/// third (`maxSilentPushCount` in `WebPushDaemonConstants.h`, `silentPushTimeoutForProduction` in
/// `NotificationData.h`). This browser does both.
public struct SimulatedBrowser: Sendable {
    public enum Effect: Equatable, Sendable {
        /// Deliver the push to the service worker.
        case deliver(AcceptedWebPush)
        /// Store the push in place of the push `replaced`.
        case store(AcceptedWebPush, replaced: String?)
        case drop(AcceptedWebPush, DropReason)
        /// The service worker showed nothing for this push.
        case silent(String)
        /// Too many silent pushes: the subscription is over.
        case revoke
    }

    public enum DropReason: String, Sendable, CaseIterable {
        /// The browser was unreachable, and the push permitted one try only.
        case phoneAway = "phone_away"
        case expired
        /// More than a hundred waited; the oldest is dropped.
        case tooManyStored = "too_many_stored"
    }

    /// How long a service worker may take to show a notification.
    public static let showWindow = Duration.seconds(30)
    /// The silent pushes that end a subscription.
    public static let silentUntilRevoked = 3
    /// The most pushes stored for one subscription.
    public static let mostStored = 100
    /// Chrome's notification for a push without one.
    public static let ownNotification = "This site has been updated in the background."

    private struct Stored {
        var push: AcceptedWebPush
        var until: Instant
    }

    private struct Awaited {
        var id: String
        var deadline: Instant
    }

    public private(set) var isAttached = false
    /// On a low battery, a browser asks for urgent pushes only (RFC 8030, section 5.3).
    public private(set) var isDozing = false
    /// Whether the page is in the foreground. It makes no difference for a push.
    public private(set) var isInForeground = false
    /// Pushes without a notification, since the subscription was made.
    public private(set) var silent = 0
    private(set) var screen = AlertScreen()
    private var stored: [Stored] = []
    private var awaited: [Awaited] = []
    private let showWindow: Duration

    public init(showWindow: Duration = Self.showWindow) {
        self.showWindow = showWindow
    }

    /// The ids of the stored pushes, in order of arrival.
    public var storedPushes: [String] { stored.map(\.push.id) }
    public var alerts: [ShownAlert] { screen.alerts }
    /// Delivered pushes that await a notification.
    public var awaitedReports: Int { awaited.count }
    /// When ``handleTimeouts(now:)`` must be called.
    public var nextDeadline: Instant? { awaited.map(\.deadline).min() }

    // MARK: Inputs

    public mutating func pushArrived(_ push: AcceptedWebPush, now: Instant) -> [Effect] {
        if isReachable(by: push) { return [deliver(push, now: now)] }
        if push.timeToLive == .zero { return [.drop(push, .phoneAway)] }
        let older = push.topic.flatMap { topic in stored.firstIndex { $0.push.topic == topic } }
        let replaced = older.map { stored.remove(at: $0).push.id }
        stored.append(Stored(push: push, until: now + push.timeToLive))
        guard stored.count > Self.mostStored else { return [.store(push, replaced: replaced)] }
        return [.store(push, replaced: replaced), .drop(stored.removeFirst().push, .tooManyStored)]
    }

    public mutating func browserAttached(now: Instant) -> [Effect] {
        isAttached = true
        return deliverStored(now: now)
    }

    public mutating func browserDetached() {
        isAttached = false
    }

    public mutating func dozed(_ isDozing: Bool, now: Instant) -> [Effect] {
        self.isDozing = isDozing
        return deliverStored(now: now)
    }

    public mutating func pageMoved(toForeground isInForeground: Bool) {
        self.isInForeground = isInForeground
    }

    /// The service worker showed a notification for this push.
    public mutating func notificationShown(_ alert: ShownAlert, now: Instant) -> SimulatedIPhone.ReportVerdict {
        screen.show(alert)
        guard let index = awaited.firstIndex(where: { $0.id == alert.id }), awaited[index].deadline > now else {
            return .notAwaited
        }
        awaited.remove(at: index)
        return .accepted
    }

    /// Counts the pushes without a notification in time.
    public mutating func handleTimeouts(now: Instant) -> [Effect] {
        let late = awaited.filter { $0.deadline <= now }
        awaited.removeAll { $0.deadline <= now }
        var effects: [Effect] = []
        for push in late {
            silent += 1
            // One notification stands for all silent pushes.
            screen.show(
                ShownAlert(id: push.id, collapseID: "user_visible_auto_notification", body: Self.ownNotification))
            effects.append(.silent(push.id))
        }
        if !late.isEmpty, silent >= Self.silentUntilRevoked { effects.append(.revoke) }
        return effects
    }

    // MARK: Helpers

    private func isReachable(by push: AcceptedWebPush) -> Bool {
        isAttached && (!isDozing || push.urgency == WebPushRequest.Urgency.high.rawValue)
    }

    private mutating func deliver(_ push: AcceptedWebPush, now: Instant) -> Effect {
        awaited.append(Awaited(id: push.id, deadline: now + showWindow))
        return .deliver(push)
    }

    private mutating func deliverStored(now: Instant) -> [Effect] {
        guard isAttached else { return [] }
        let waiting = stored
        stored = []
        return waiting.compactMap { entry in
            if entry.until <= now { return .drop(entry.push, .expired) }
            if isReachable(by: entry.push) { return deliver(entry.push, now: now) }
            stored.append(entry)
            return nil
        }
    }
}
