import CallVocabulary
import HTTP2

/// A registered phone and its link. Confined to the simulator's loop.
final class SimulatedPhone {
    /// The streaming response that carries the phone's pushes.
    struct Link {
        let connection: SimulatorConnection
        let stream: StreamID
    }

    enum System {
        case iPhone(SimulatedIPhone)
        case android(SimulatedAndroidPhone)
    }

    /// The most delivered pushes that a report can name by the call's UUID.
    private static let rememberedCalls = 32

    let token: String
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
        self.environment = environment
        self.topic = topic
        self.name = name
        self.system = system
    }

    var provider: PushProvider {
        switch system {
        case .iPhone: .apns
        case .android: .fcm
        }
    }

    /// For logs: at most eight characters of the token.
    var redactedToken: String { String(token.prefix(8)) + "…" }

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
        iPhone { $0.pushArrived(push, now: now, effects: &$1) }
    }

    func arrived(_ message: AcceptedMessage, now: Instant) -> [PhoneEffect] {
        android { $0.messageArrived(message, now: now, effects: &$1) }
    }

    func attached(now: Instant) -> [PhoneEffect] {
        iPhone { $0.phoneAttached(now: now, effects: &$1) } + android { $0.phoneAttached(now: now, effects: &$1) }
    }

    func detached() {
        _ = iPhone { phone, _ in phone.phoneDetached() }
        _ = android { phone, _ in phone.phoneDetached() }
    }

    func timeRanOut(now: Instant) -> [PhoneEffect] {
        _ = android { phone, _ in phone.handleTimeouts(now: now) }
        return iPhone { $0.handleTimeouts(now: now, effects: &$1) }
    }

    /// The user opened the app, left it, or swiped it away; Android treats the last two alike.
    func appMoved(to state: SimulatedIPhone.AppState, now: Instant) -> [PhoneEffect] {
        _ = iPhone { phone, _ in phone.appMoved(to: state) }
        return android { $0.appMoved(toForeground: state == .foreground, now: now, effects: &$1) }
    }

    /// No effect on an iPhone.
    func dozed(_ isDozing: Bool, now: Instant) -> [PhoneEffect] {
        android { $0.dozed(isDozing, now: now, effects: &$1) }
    }

    /// No effect on an Android phone.
    func callsChanged(isInCall: Bool) {
        _ = iPhone { phone, _ in phone.callsChanged(isInCall: isInCall) }
    }

    func reported(pushID: String, now: Instant) -> SimulatedIPhone.ReportVerdict {
        switch system {
        case .iPhone(var phone):
            defer { system = .iPhone(phone) }
            return phone.pushReported(id: pushID, now: now)
        case .android(var phone):
            defer { system = .android(phone) }
            return phone.messageShown(id: pushID, now: now)
        }
    }

    var nextDeadline: Instant? {
        switch system {
        case .iPhone(let phone): phone.nextDeadline
        case .android(let phone): phone.nextDeadline
        }
    }

    private func iPhone(_ input: (inout SimulatedIPhone, inout [SimulatedIPhone.Effect]) -> Void) -> [PhoneEffect] {
        guard case .iPhone(var phone) = system else { return [] }
        var effects: [SimulatedIPhone.Effect] = []
        input(&phone, &effects)
        system = .iPhone(phone)
        return effects.map { PhoneEffect($0) }
    }

    private func android(
        _ input: (inout SimulatedAndroidPhone, inout [SimulatedAndroidPhone.Effect]) -> Void
    ) -> [PhoneEffect] {
        guard case .android(var phone) = system else { return [] }
        var effects: [SimulatedAndroidPhone.Effect] = []
        input(&phone, &effects)
        system = .android(phone)
        return effects.map { PhoneEffect($0) }
    }

    // MARK: For people

    func snapshot(subscriptions: [String]) -> PushSimulatorSnapshot.Phone {
        var seen = PushSimulatorSnapshot.Phone(
            token: token, provider: provider.rawValue, environment: environment.rawValue, topic: topic, name: name,
            isAttached: false, app: "", failures: 0, isVoIPBlocked: false, isUnregistered: unregisteredSince != nil,
            awaitedReports: 0, storedPush: nil, storedMessages: [], heldPush: nil, isDozing: false, isDemoted: false,
            alerts: [], subscriptions: subscriptions)
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
        }
        return seen
    }
}

@available(*, unavailable)
extension SimulatedPhone: Sendable {}
