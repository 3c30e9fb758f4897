import CallVocabulary

/// One app on one iPhone: what iOS and APNs do with its pushes, and the contract that iOS enforces. Pure.
///
/// ```
///            push                       7 s without a report
/// killed ──────────▶ background ────────────────────────────▶ killed   (third time in a row: VoIP pushes stop)
///    │  the user opens it  │ ▲
///    └────▶ foreground ◀───┘ │    a push in the foreground needs no report
///               └────────────┘
/// ```
/// APNs sees the phone only while it is attached; what comes in between is stored until its `apns-expiration`,
/// the newest only, whatever its `apns-collapse-id`. Alerts are shown, and one takes the place of an older one with the
/// same `apns-collapse-id`. Background pushes wait for their turn, the newest only: iOS grants an app a few in an hour.
public struct SimulatedIPhone: Sendable {
    /// What iOS does with the app.
    public enum AppState: String, Sendable, CaseIterable {
        case foreground, background, killed
    }

    /// What has to happen outside because of an input.
    public enum Effect: Equatable, Sendable {
        /// Hand the push to the attached phone; `mustReport` is what PushKit tells the app (iOS 26.4).
        case deliver(AcceptedPush, mustReport: Bool)
        /// iOS ends the app: cut its sockets. `unreported` are the `apns-id`s it failed to report.
        case kill(unreported: [String], isVoIPBlocked: Bool)
        /// It waits for the phone to come back, in place of `replaced`.
        case store(AcceptedPush, replaced: String?)
        /// A background push beyond what iOS allows for now: it waits for its turn, in place of `replaced`.
        case hold(AcceptedPush, replaced: String?)
        /// It will never be delivered.
        case drop(AcceptedPush, DropReason)
    }

    /// Why an accepted push is never delivered.
    public enum DropReason: String, Sendable, CaseIterable {
        /// The phone was away and the push asked for one try only.
        case phoneAway = "phone_away"
        /// Its expiration passed while the phone was away.
        case expired
        /// The app did not report its VoIP pushes again and again: iOS delivers it none any more.
        case voipBlocked = "voip_blocked"
    }

    /// What a report meant.
    public enum ReportVerdict: String, Sendable, CaseIterable {
        /// In time.
        case accepted
        /// No such push waits for a report: reported already, too late, or never delivered.
        case notAwaited = "not_awaited"
    }

    /// How long an app has, on a real phone, to report a VoIP push to CallKit before iOS ends it.
    public static let reportWindow = Duration.seconds(7)
    /// After how many failures in a row iOS stops delivering VoIP pushes.
    public static let failuresUntilBlocked = 3
    /// How long APNs keeps a push without `apns-expiration`; seen in practice, Apple does not say.
    public static let defaultRetention = Duration.seconds(30 * 24 * 3600)
    /// How many background pushes an app gets in an hour; Apple says two or three.
    public static let backgroundPushesAnHour = 3
    /// How many delivered pushes that need no report are remembered, in case a report comes all the same.
    private static let rememberedExempt = 64

    private struct Awaited {
        var id: String
        /// nil: exempt.
        var deadline: Instant?
    }

    public private(set) var app = AppState.killed
    public private(set) var isAttached = false
    /// While the app is in a call it needs to report no further one.
    public private(set) var isInCall = false
    /// How many times in a row the app was ended for want of a report.
    public private(set) var failures = 0
    /// Whether iOS has stopped to deliver VoIP pushes. The user opening the app lifts it.
    public private(set) var isVoIPBlocked = false
    /// The push that waits for the phone to come back.
    public private(set) var stored: AcceptedPush?
    /// When it is dropped.
    private var storedUntil = Instant(milliseconds: 0)
    private var awaited: [Awaited] = []
    private var screen = AlertScreen()
    /// The background push that waits for its turn.
    public private(set) var held: AcceptedPush?
    /// When background pushes were delivered within the last `backgroundPeriod`.
    private var backgroundDeliveries: [Instant] = []
    private let reportWindow: Duration
    private let backgroundPushes: Int
    private let backgroundPeriod: Duration

    /// - Parameters:
    ///   - backgroundPushes: how many background pushes are delivered in a `backgroundPeriod`, at least one.
    public init(
        reportWindow: Duration = Self.reportWindow, backgroundPushes: Int = Self.backgroundPushesAnHour,
        backgroundPeriod: Duration = .seconds(3600)
    ) {
        self.reportWindow = reportWindow
        self.backgroundPushes = max(1, backgroundPushes)
        self.backgroundPeriod = backgroundPeriod
    }

    /// What is on the screen.
    public var alerts: [ShownAlert] { screen.alerts }

    /// How many delivered pushes iOS still waits to see reported.
    public var awaitedReports: Int { awaited.count { $0.deadline != nil } }

    /// When ``handleTimeouts(now:effects:)`` has something to do.
    public var nextDeadline: Instant? { [reportDeadline, backgroundTurn].compactMap { $0 }.min() }

    private var reportDeadline: Instant? { awaited.compactMap(\.deadline).min() }
    /// When the held background push may be delivered; nil without one, and while the phone is away.
    private var backgroundTurn: Instant? {
        guard held != nil, isAttached else { return nil }
        return backgroundDeliveries.count < backgroundPushes
            ? Instant(milliseconds: 0) : backgroundDeliveries.first.map { $0 + backgroundPeriod }
    }

    // MARK: Inputs

    /// APNs has accepted a push for this phone.
    public mutating func pushArrived(_ push: AcceptedPush, now: Instant, effects: inout [Effect]) {
        if push.type == .voip, isVoIPBlocked { return effects.append(.drop(push, .voipBlocked)) }
        if isAttached { return deliver(push, now: now, effects: &effects) }
        if push.expiration == 0 { return effects.append(.drop(push, .phoneAway)) }
        // A provider may name any number of seconds.
        let until =
            push.expiration.map { Instant(milliseconds: min($0, Int64.max / 1000) * 1000) }
            ?? now + Self.defaultRetention
        if until <= now { return effects.append(.drop(push, .expired)) }
        effects.append(.store(push, replaced: stored?.id))
        stored = push
        storedUntil = until
    }

    /// The phone has reached APNs, and gets what was stored for it.
    public mutating func phoneAttached(now: Instant, effects: inout [Effect]) {
        isAttached = true
        deliverHeld(now: now, effects: &effects)
        guard let push = stored else { return }
        stored = nil
        if push.type == .voip, isVoIPBlocked { return effects.append(.drop(push, .voipBlocked)) }
        if storedUntil <= now { return effects.append(.drop(push, .expired)) }
        deliver(push, now: now, effects: &effects)
    }

    /// The phone cannot be reached any more. What the app has to report is still due.
    public mutating func phoneDetached() {
        isAttached = false
    }

    /// The app has told CallKit of the call that the push `id` announced.
    public mutating func pushReported(id: String, now: Instant) -> ReportVerdict {
        guard let index = awaited.firstIndex(where: { $0.id == id }) else { return .notAwaited }
        if let deadline = awaited[index].deadline, deadline <= now { return .notAwaited }
        awaited.remove(at: index)
        if !isVoIPBlocked { failures = 0 }
        return .accepted
    }

    /// A call of the app's begins, or its last one ends.
    public mutating func callsChanged(isInCall: Bool) {
        self.isInCall = isInCall
    }

    /// The user opened the app, left it, or swiped it away.
    public mutating func appMoved(to state: AppState) {
        app = state
        switch state {
        case .foreground:
            isVoIPBlocked = false
            failures = 0
        case .background: break
        case .killed:
            awaited = []
            isInCall = false
        }
    }

    /// Ends the app when a report is overdue, and delivers a background push whose turn has come.
    public mutating func handleTimeouts(now: Instant, effects: inout [Effect]) {
        deliverHeld(now: now, effects: &effects)
        guard let due = reportDeadline, due <= now else { return }
        // All that the app still had to report dies with it: it is one failure, whatever their number.
        let unreported = awaited.filter { $0.deadline != nil }.map(\.id)
        awaited = []
        app = .killed
        isInCall = false
        failures += 1
        if failures >= Self.failuresUntilBlocked { isVoIPBlocked = true }
        effects.append(.kill(unreported: unreported, isVoIPBlocked: isVoIPBlocked))
    }

    // MARK: Helpers

    private mutating func deliver(_ push: AcceptedPush, now: Instant, effects: inout [Effect]) {
        switch push.type {
        case .alert:
            screen.show(ShownAlert(id: push.id, collapseID: push.collapseID, payload: push.payload))
            return effects.append(.deliver(push, mustReport: false))
        case .background: return hold(push, now: now, effects: &effects)
        case .voip: break
        }
        let mustReport = app != .foreground && !isInCall
        if app == .killed { app = .background }
        awaited.append(Awaited(id: push.id, deadline: mustReport ? now + reportWindow : nil))
        if !mustReport { forgetOldExempt() }
        effects.append(.deliver(push, mustReport: mustReport))
    }

    private mutating func hold(_ push: AcceptedPush, now: Instant, effects: inout [Effect]) {
        let older = held?.id
        held = push
        backgroundDeliveries.removeAll { $0 + backgroundPeriod <= now }
        if older != nil || backgroundDeliveries.count >= backgroundPushes {
            effects.append(.hold(push, replaced: older))
        }
        deliverHeld(now: now, effects: &effects)
    }

    private mutating func deliverHeld(now: Instant, effects: inout [Effect]) {
        guard let push = held, let turn = backgroundTurn, turn <= now else { return }
        held = nil
        backgroundDeliveries.removeAll { $0 + backgroundPeriod <= now }
        backgroundDeliveries.append(now)
        effects.append(.deliver(push, mustReport: false))
    }

    private mutating func forgetOldExempt() {
        guard awaited.count(where: { $0.deadline == nil }) > Self.rememberedExempt,
            let oldest = awaited.firstIndex(where: { $0.deadline == nil })
        else { return }
        awaited.remove(at: oldest)
    }
}
