import CallVocabulary

/// One app on one Android phone: how the system and FCM treat its messages. Pure.
///
/// ```
///              HIGH                            10 s without anything shown
/// dozing ────────────────▶ delivered ─────────────────────────────────────▶ unseen (three in a row: demoted)
///    │ NORMAL, or demoted                       shown ──▶ counted from 0 again
///    └──────▶ waits ──the phone wakes up──▶ delivered
/// ```
/// Undeliverable messages wait for their time to live: one for each collapse key, and a hundred without one.
public struct SimulatedAndroidPhone: Sendable {
    public enum Effect: Equatable, Sendable {
        /// Deliver the message to the attached phone, with its effective priority.
        case deliver(AcceptedMessage, isHigh: Bool)
        /// Store the message in place of the message `replaced`.
        case store(AcceptedMessage, replaced: String?)
        case drop(AcceptedMessage, DropReason)
    }

    public enum DropReason: String, Sendable, CaseIterable {
        /// The phone was unreachable, and the message permitted one try only.
        case phoneAway = "phone_away"
        case expired
        /// More than a hundred waited: FCM drops them all, and the app must synchronize with its server.
        case tooManyStored = "too_many_stored"
    }

    /// How long an app may take to show a notification for a message of high priority.
    public static let showWindow = Duration.seconds(10)
    /// The consecutive messages without a notification after which high priority is lost.
    public static let unseenUntilDemoted = 3
    /// The most messages without a collapse key stored for one app on one phone.
    public static let mostStored = 100
    /// The most collapse keys stored at a time; the oldest are dropped.
    public static let mostCollapseKeys = 4

    private struct Stored {
        var message: AcceptedMessage
        var until: Instant
    }

    private struct Awaited {
        var id: String
        var deadline: Instant
    }

    public private(set) var isAttached = false
    public private(set) var isDozing = false
    public private(set) var isInForeground = false
    /// Consecutive messages of high priority without a notification.
    public private(set) var unseen = 0
    /// Whether high priority counts as normal, until the user opens the app or the app shows a notification.
    public private(set) var isDemoted = false
    private(set) var screen = AlertScreen()
    private var stored: [Stored] = []
    private var awaited: [Awaited] = []
    private let showWindow: Duration

    public init(showWindow: Duration = Self.showWindow) {
        self.showWindow = showWindow
    }

    /// The ids of the stored messages, in order of arrival.
    public var storedMessages: [String] { stored.map(\.message.id) }
    public var alerts: [ShownAlert] { screen.alerts }
    /// Messages of high priority that await a notification.
    public var awaitedReports: Int { awaited.count }
    /// When ``handleTimeouts(now:)`` must be called.
    public var nextDeadline: Instant? { awaited.map(\.deadline).min() }

    // MARK: Inputs

    public mutating func messageArrived(_ message: AcceptedMessage, now: Instant) -> [Effect] {
        if isReachable(by: message) { return [deliver(message, now: now)] }
        if message.timeToLive == .zero { return [.drop(message, .phoneAway)] }
        return store(message, until: now + message.timeToLive)
    }

    public mutating func phoneAttached(now: Instant) -> [Effect] {
        isAttached = true
        return deliverStored(now: now)
    }

    public mutating func phoneDetached() {
        isAttached = false
    }

    public mutating func dozed(_ isDozing: Bool, now: Instant) -> [Effect] {
        self.isDozing = isDozing
        return deliverStored(now: now)
    }

    public mutating func appMoved(toForeground isInForeground: Bool, now: Instant) -> [Effect] {
        self.isInForeground = isInForeground
        guard isInForeground else { return [] }
        isDozing = false
        seen()
        return deliverStored(now: now)
    }

    public mutating func messageShown(id: String, now: Instant) -> SimulatedIPhone.ReportVerdict {
        guard let index = awaited.firstIndex(where: { $0.id == id }), awaited[index].deadline > now else {
            return .notAwaited
        }
        awaited.remove(at: index)
        seen()
        return .accepted
    }

    /// Counts the messages without a notification in time.
    public mutating func handleTimeouts(now: Instant) {
        let late = awaited.count { $0.deadline <= now }
        guard late > 0 else { return }
        awaited.removeAll { $0.deadline <= now }
        unseen += late
        if unseen >= Self.unseenUntilDemoted { isDemoted = true }
    }

    // MARK: Helpers

    private mutating func seen() {
        unseen = 0
        isDemoted = false
    }

    private func isReachable(by message: AcceptedMessage) -> Bool {
        isAttached && (!isDozing || (message.isHigh && !isDemoted))
    }

    private mutating func deliver(_ message: AcceptedMessage, now: Instant) -> Effect {
        let isHigh = message.isHigh && !isDemoted
        if message.hasNotification, !isInForeground {
            screen.show(
                ShownAlert(id: message.id, collapseID: message.tag ?? message.collapseKey, payload: message.payload))
            if message.isHigh { seen() }
        } else if isHigh, !isInForeground {
            awaited.append(Awaited(id: message.id, deadline: now + showWindow))
        }
        return .deliver(message, isHigh: isHigh)
    }

    private mutating func store(_ message: AcceptedMessage, until: Instant) -> [Effect] {
        let entry = Stored(message: message, until: until)
        guard let key = message.collapseKey else {
            stored.append(entry)
            return [.store(message, replaced: nil)] + dropIfTooMany()
        }
        let older = stored.firstIndex { $0.message.collapseKey == key }
        let replaced = older.map { stored.remove(at: $0).message.id }
        stored.append(entry)
        let keyed = stored.indices.filter { stored[$0].message.collapseKey != nil }
        guard keyed.count > Self.mostCollapseKeys else { return [.store(message, replaced: replaced)] }
        return [
            .store(message, replaced: replaced), .drop(stored.remove(at: keyed[0]).message, .tooManyStored),
        ]
    }

    private mutating func dropIfTooMany() -> [Effect] {
        let dropped = stored.map(\.message).filter { $0.collapseKey == nil }
        guard dropped.count > Self.mostStored else { return [] }
        stored.removeAll { $0.message.collapseKey == nil }
        return dropped.map { .drop($0, .tooManyStored) }
    }

    private mutating func deliverStored(now: Instant) -> [Effect] {
        guard isAttached else { return [] }
        let waiting = stored
        stored = []
        return waiting.compactMap { entry in
            if entry.until <= now { return .drop(entry.message, .expired) }
            if isReachable(by: entry.message) { return deliver(entry.message, now: now) }
            stored.append(entry)
            return nil
        }
    }
}
