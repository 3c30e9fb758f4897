import CallVocabulary

/// One app on one Android phone: what the system and FCM do with its messages. Pure.
///
/// ```
///              HIGH                            10 s without anything shown
/// dozing ────────────────▶ delivered ─────────────────────────────────────▶ unseen (three in a row: demoted)
///    │ NORMAL, or demoted                       shown ──▶ counted from 0 again
///    └──────▶ waits ──the phone wakes up──▶ delivered
/// ```
/// What cannot be delivered waits for its time to live: one for each collapse key, and a hundred without one.
public struct SimulatedAndroidPhone: Sendable {
    /// What has to happen outside because of an input.
    public enum Effect: Equatable, Sendable {
        /// Hand the message to the attached phone, with the priority it really has.
        case deliver(AcceptedMessage, isHigh: Bool)
        /// It waits, in place of the message `replaced`.
        case store(AcceptedMessage, replaced: String?)
        /// It will never be delivered.
        case drop(AcceptedMessage, DropReason)
    }

    /// Why an accepted message is never delivered.
    public enum DropReason: String, Sendable, CaseIterable {
        /// The phone could not be reached and the message asked for one try only.
        case phoneAway = "phone_away"
        case expired
        /// More than a hundred waited: FCM drops them all, and the app is to ask its server.
        case tooManyStored = "too_many_stored"
    }

    /// How long after a message of high priority the app has to show something for it.
    public static let showWindow = Duration.seconds(10)
    /// After how many in a row for which nothing was shown high priority is taken away.
    public static let unseenUntilDemoted = 3
    /// Messages without a collapse key that FCM keeps for one app on one phone.
    public static let mostStored = 100
    /// Collapse keys that FCM keeps at a time; of more, the oldest are gone.
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
    /// Messages of high priority in a row for which nothing was shown.
    public private(set) var unseen = 0
    /// The system treats high priority as normal, until the user opens the app or it shows something.
    public private(set) var isDemoted = false
    private(set) var screen = AlertScreen()
    private var stored: [Stored] = []
    private var awaited: [Awaited] = []
    private let showWindow: Duration

    public init(showWindow: Duration = Self.showWindow) {
        self.showWindow = showWindow
    }

    /// The ids of the messages that wait, in the order they came.
    public var storedMessages: [String] { stored.map(\.message.id) }
    /// What is on the screen.
    public var alerts: [ShownAlert] { screen.alerts }
    /// Messages of high priority for which something is to be shown.
    public var awaitedReports: Int { awaited.count }
    /// When ``handleTimeouts(now:)`` has something to do.
    public var nextDeadline: Instant? { awaited.map(\.deadline).min() }

    // MARK: Inputs

    /// FCM has accepted a message for this phone.
    public mutating func messageArrived(_ message: AcceptedMessage, now: Instant, effects: inout [Effect]) {
        if isReachable(by: message) { return deliver(message, now: now, effects: &effects) }
        if message.timeToLive == .zero { return effects.append(.drop(message, .phoneAway)) }
        store(message, until: now + message.timeToLive, effects: &effects)
    }

    /// The phone has reached FCM.
    public mutating func phoneAttached(now: Instant, effects: inout [Effect]) {
        isAttached = true
        deliverStored(now: now, effects: &effects)
    }

    public mutating func phoneDetached() {
        isAttached = false
    }

    /// The phone lies untouched, or is picked up.
    public mutating func dozed(_ isDozing: Bool, now: Instant, effects: inout [Effect]) {
        self.isDozing = isDozing
        deliverStored(now: now, effects: &effects)
    }

    /// The user has opened the app, or left it.
    public mutating func appMoved(toForeground isInForeground: Bool, now: Instant, effects: inout [Effect]) {
        self.isInForeground = isInForeground
        guard isInForeground else { return }
        isDozing = false
        seen()
        deliverStored(now: now, effects: &effects)
    }

    /// The app has shown something for the message `id`.
    public mutating func messageShown(id: String, now: Instant) -> SimulatedIPhone.ReportVerdict {
        guard let index = awaited.firstIndex(where: { $0.id == id }), awaited[index].deadline > now else {
            return .notAwaited
        }
        awaited.remove(at: index)
        seen()
        return .accepted
    }

    /// Counts the messages for which nothing was shown in time.
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

    private mutating func deliver(_ message: AcceptedMessage, now: Instant, effects: inout [Effect]) {
        let isHigh = message.isHigh && !isDemoted
        if message.hasNotification, !isInForeground {
            screen.show(
                ShownAlert(id: message.id, collapseID: message.tag ?? message.collapseKey, payload: message.payload))
            if message.isHigh { seen() }
        } else if isHigh, !isInForeground {
            awaited.append(Awaited(id: message.id, deadline: now + showWindow))
        }
        effects.append(.deliver(message, isHigh: isHigh))
    }

    private mutating func store(_ message: AcceptedMessage, until: Instant, effects: inout [Effect]) {
        guard let key = message.collapseKey else {
            effects.append(.store(message, replaced: nil))
            stored.append(Stored(message: message, until: until))
            return dropIfTooMany(effects: &effects)
        }
        let older = stored.firstIndex { $0.message.collapseKey == key }
        effects.append(.store(message, replaced: older.map { stored[$0].message.id }))
        if let older { stored.remove(at: older) }
        stored.append(Stored(message: message, until: until))
        let keyed = stored.indices.filter { stored[$0].message.collapseKey != nil }
        guard keyed.count > Self.mostCollapseKeys else { return }
        effects.append(.drop(stored[keyed[0]].message, .tooManyStored))
        stored.remove(at: keyed[0])
    }

    private mutating func dropIfTooMany(effects: inout [Effect]) {
        guard stored.count(where: { $0.message.collapseKey == nil }) > Self.mostStored else { return }
        for entry in stored where entry.message.collapseKey == nil {
            effects.append(.drop(entry.message, .tooManyStored))
        }
        stored.removeAll { $0.message.collapseKey == nil }
    }

    private mutating func deliverStored(now: Instant, effects: inout [Effect]) {
        guard isAttached else { return }
        let waiting = stored
        stored = []
        for entry in waiting {
            if entry.until <= now {
                effects.append(.drop(entry.message, .expired))
            } else if isReachable(by: entry.message) {
                deliver(entry.message, now: now, effects: &effects)
            } else {
                stored.append(entry)
            }
        }
    }
}
