import CallVocabulary
import HTTP2

/// A registered phone or browser, and its link. Confined to the simulator's loop.
final class SimulatedPhone {
    /// The streaming response that carries the phone's pushes.
    struct Link {
        let connection: SimulatorConnection
        let stream: StreamID
    }

    enum System {
        case iPhone(SimulatedIPhone)
        case android(SimulatedAndroidPhone)
        case browser(SimulatedBrowser, BrowserSubscription)
    }

    /// The most delivered pushes that a report can name by the call's UUID.
    private static let rememberedCalls = 32

    let token: String
    /// The token in paths and faults: for a browser the last part of its endpoint.
    let key: String
    let environment: PushEnvironment
    let topic: String
    let name: String
    private(set) var system: System
    var link: Link?
    var unregisteredSince: Instant?
    /// The deadline that the simulator's timer is set to for this phone.
    var scheduled: Instant?
    private var calls: [(uuid: String, pushID: String)] = []

    init(token: String, environment: PushEnvironment, topic: String, name: String, system: System) {
        self.token = token
        key = Self.key(of: token)
        self.environment = environment
        self.topic = topic
        self.name = name
        self.system = system
    }

    var provider: PushProvider {
        switch system {
        case .iPhone: .apns
        case .android: .fcm
        case .browser: .webpush
        }
    }

    /// The key of the phone with this token.
    static func key(of token: String) -> String {
        guard token.hasPrefix("https://") else { return token }
        let endpoint = token.prefix { $0 != "#" }
        return String(endpoint[(endpoint.lastIndex(of: "/") ?? endpoint.startIndex)...].dropFirst())
    }

    /// For logs: at most eight characters of the key.
    var redactedToken: String { String(key.prefix(8)) + "…" }

    func remember(call uuid: String, pushID: String) {
        if calls.count == Self.rememberedCalls { calls.removeFirst() }
        calls.append((uuid.lowercased(), pushID))
    }

    /// The id of the newest push for the call.
    func pushID(call uuid: String) -> String? {
        let uuid = uuid.lowercased()
        return calls.last { $0.uuid == uuid }?.pushID
    }

    // MARK: Inputs

    func arrived(_ push: AcceptedPush, now: Instant) -> [PhoneEffect] {
        iPhone?.pushArrived(push, now: now).map { PhoneEffect($0) } ?? []
    }

    func arrived(_ message: AcceptedMessage, now: Instant) -> [PhoneEffect] {
        android?.messageArrived(message, now: now).map { PhoneEffect($0) } ?? []
    }

    func arrived(_ push: AcceptedWebPush, now: Instant) -> [PhoneEffect] {
        browser?.pushArrived(push, now: now).map { PhoneEffect($0) } ?? []
    }

    func attached(now: Instant) -> [PhoneEffect] {
        iPhone?.phoneAttached(now: now).map { PhoneEffect($0) }
            ?? android?.phoneAttached(now: now).map { PhoneEffect($0) }
            ?? browser?.browserAttached(now: now).map { PhoneEffect($0) } ?? []
    }

    func detached() {
        iPhone?.phoneDetached()
        android?.phoneDetached()
        browser?.browserDetached()
    }

    func timeRanOut(now: Instant) -> [PhoneEffect] {
        android?.handleTimeouts(now: now)
        return iPhone?.handleTimeouts(now: now).map { PhoneEffect($0) }
            ?? browser?.handleTimeouts(now: now).map { PhoneEffect($0) } ?? []
    }

    /// The user opened the app, left it, or swiped it away; Android and browsers treat the last two alike.
    func appMoved(to state: SimulatedIPhone.AppState, now: Instant) -> [PhoneEffect] {
        iPhone?.appMoved(to: state)
        browser?.pageMoved(toForeground: state == .foreground)
        return android?.appMoved(toForeground: state == .foreground, now: now).map { PhoneEffect($0) } ?? []
    }

    /// No effect on an iPhone.
    func dozed(_ isDozing: Bool, now: Instant) -> [PhoneEffect] {
        android?.dozed(isDozing, now: now).map { PhoneEffect($0) }
            ?? browser?.dozed(isDozing, now: now).map { PhoneEffect($0) } ?? []
    }

    /// Has an effect on an iPhone only.
    func callsChanged(isInCall: Bool) { iPhone?.callsChanged(isInCall: isInCall) }

    /// - Parameter alert: the notification that a service worker showed.
    func reported(pushID: String, alert: ShownAlert, now: Instant) -> SimulatedIPhone.ReportVerdict {
        iPhone?.pushReported(id: pushID, now: now) ?? android?.messageShown(id: pushID, now: now)
            ?? browser?.notificationShown(alert, now: now) ?? .notAwaited
    }

    var nextDeadline: Instant? { iPhone?.nextDeadline ?? android?.nextDeadline ?? browser?.nextDeadline }

    /// nil but for an iPhone.
    private var iPhone: SimulatedIPhone? {
        get { if case .iPhone(let phone) = system { phone } else { nil } }
        set { if let newValue { system = .iPhone(newValue) } }
    }

    /// nil but for an Android phone.
    private var android: SimulatedAndroidPhone? {
        get { if case .android(let phone) = system { phone } else { nil } }
        set { if let newValue { system = .android(newValue) } }
    }

    /// nil but for a browser.
    private var browser: SimulatedBrowser? {
        get { if case .browser(let browser, _) = system { browser } else { nil } }
        set { if let newValue, let subscription { system = .browser(newValue, subscription) } }
    }

    /// nil but for a browser.
    var subscription: BrowserSubscription? {
        if case .browser(_, let subscription) = system { subscription } else { nil }
    }

    /// Keeps the push for ``BrowserSubscription/view``.
    func remember(_ push: AcceptedWebPush, authorization: String) {
        guard case .browser(let browser, var subscription) = system else { return }
        subscription.remember(push, authorization: authorization)
        system = .browser(browser, subscription)
    }

    // MARK: For people

    func snapshot(subscriptions: [String]) -> PushSimulatorSnapshot.Phone {
        var seen = PushSimulatorSnapshot.Phone(
            token: token, provider: provider.rawValue, environment: environment.rawValue, topic: topic, name: name,
            isUnregistered: unregisteredSince != nil, subscriptions: subscriptions)
        switch system {
        case .iPhone(let phone):
            seen.isAttached = phone.isAttached
            seen.app = phone.app.rawValue
            seen.failures = phone.failures
            seen.isVoIPBlocked = phone.isVoIPBlocked
            seen.awaitedReports = phone.awaitedReports
            seen.storedPush = phone.stored?.id
            seen.heldPush = phone.held?.id
            seen.alerts = phone.alerts
        case .android(let phone):
            seen.isAttached = phone.isAttached
            seen.app = phone.isInForeground ? "foreground" : "background"
            seen.failures = phone.unseen
            seen.awaitedReports = phone.awaitedReports
            seen.storedMessages = phone.storedMessages
            seen.isDozing = phone.isDozing
            seen.isDemoted = phone.isDemoted
            seen.alerts = phone.alerts
        case .browser(let browser, _):
            seen.isAttached = browser.isAttached
            seen.app = browser.isInForeground ? "foreground" : "background"
            seen.failures = browser.silent
            seen.awaitedReports = browser.awaitedReports
            seen.storedMessages = browser.storedPushes
            seen.isDozing = browser.isDozing
            seen.alerts = browser.alerts
        }
        return seen
    }
}

@available(*, unavailable)
extension SimulatedPhone: Sendable {}
