import CallVocabulary

/// One app on one iPhone: how iOS and APNs treat its pushes, and the rules iOS enforces. Pure.
///
/// ```
///            push                       7 s without a report
/// killed ──────────▶ background ────────────────────────────▶ killed   (third time in a row: VoIP pushes stop)
///    │  the user opens it  │ ▲
///    └────▶ foreground ◀───┘ │    a push in the foreground needs no report
///               └────────────┘
/// ```
/// APNs reaches the phone only while it is attached. Meanwhile the newest push is stored until its `apns-expiration`,
/// whatever its `apns-collapse-id`. An alert replaces a shown one with the same `apns-collapse-id`. Background pushes
/// are throttled: iOS permits an app a few in an hour, and the newest of the others waits.
public struct SimulatedIPhone: Sendable {
    public enum AppState: String, Sendable, CaseIterable {
        case foreground, background, killed
    }

    /// An action that follows from an input.
    public enum Effect: Equatable, Sendable {
        /// Deliver the push to the attached phone. `mustReport` is PushKit's value for the app (iOS 26.4).
        case deliver(AcceptedPush, mustReport: Bool)
        /// iOS kills the app: close its sockets. `unreported` are the `apns-id`s of unreported pushes.
        case kill(unreported: [String], isVoIPBlocked: Bool)
        /// Store the push until the phone attaches, in place of `replaced`.
        case store(AcceptedPush, replaced: String?)
        /// Hold a background push above the limit until it is permitted, in place of `replaced`.
        case hold(AcceptedPush, replaced: String?)
        case drop(AcceptedPush, DropReason)
    }

    public enum DropReason: String, Sendable, CaseIterable {
        /// The phone was unreachable, and the push permitted one try only.
        case phoneAway = "phone_away"
        /// It expired while the phone was unreachable.
        case expired
        /// The app repeatedly failed to report VoIP pushes: iOS delivers no more.
        case voipBlocked = "voip_blocked"
    }

    public enum ReportVerdict: String, Sendable, CaseIterable {
        /// In time.
        case accepted
        /// No such push awaits a report: it was reported before, too late, or never delivered.
        case notAwaited = "not_awaited"
    }

    /// How long an app may take, on a real phone, to report a VoIP push to CallKit before iOS kills it.
    public static let reportWindow = Duration.seconds(7)
    /// The consecutive failures after which iOS stops VoIP pushes.
    public static let failuresUntilBlocked = 3
    /// How long APNs stores a push without `apns-expiration`: observed; Apple does not document it.
    public static let defaultRetention = Duration.seconds(30 * 24 * 3600)
    /// The background pushes of an app in an hour; Apple documents two or three.
    public static let backgroundPushesAnHour = 3
    /// The most delivered pushes without a required report that are kept, for a report that may still arrive.
    private static let rememberedExempt = 64

    private struct Awaited {
        var id: String
        /// nil: no report required.
        var deadline: Instant?
    }

    public private(set) var app = AppState.killed
    public private(set) var isAttached = false
    /// While true, further pushes need no report.
    public private(set) var isInCall = false
    /// How many times in a row the app was killed for unreported pushes.
    public private(set) var failures = 0
    /// Whether iOS stopped VoIP pushes. Ends when the user opens the app.
    public private(set) var isVoIPBlocked = false
    /// The push stored until the phone attaches.
    public private(set) var stored: AcceptedPush?
    private var storedUntil = Instant(milliseconds: 0)
    private var awaited: [Awaited] = []
    private var screen = AlertScreen()
    /// The background push held until it is permitted.
    public private(set) var held: AcceptedPush?
    /// The times of background pushes delivered within the last `backgroundPeriod`.
    private var backgroundDeliveries: [Instant] = []
    private let reportWindow: Duration
    private let backgroundPushes: Int
    private let backgroundPeriod: Duration

    /// - Parameters:
    ///   - backgroundPushes: the background pushes permitted in a `backgroundPeriod`, at least one.
    public init(
        reportWindow: Duration = Self.reportWindow, backgroundPushes: Int = Self.backgroundPushesAnHour,
        backgroundPeriod: Duration = .seconds(3600)
    ) {
        self.reportWindow = reportWindow
        self.backgroundPushes = max(1, backgroundPushes)
        self.backgroundPeriod = backgroundPeriod
    }

    public var alerts: [ShownAlert] { screen.alerts }

    /// The delivered pushes that iOS awaits a report for.
    public var awaitedReports: Int { awaited.count { $0.deadline != nil } }

    /// When ``handleTimeouts(now:)`` must be called.
    public var nextDeadline: Instant? { [reportDeadline, backgroundTurn].compactMap { $0 }.min() }

    private var reportDeadline: Instant? { awaited.compactMap(\.deadline).min() }
    /// When the held background push may be delivered; nil without one, and while the phone is unreachable.
    private var backgroundTurn: Instant? {
        guard held != nil, isAttached else { return nil }
        return backgroundDeliveries.count < backgroundPushes
            ? Instant(milliseconds: 0) : backgroundDeliveries.first.map { $0 + backgroundPeriod }
    }

    // MARK: Inputs

    public mutating func pushArrived(_ push: AcceptedPush, now: Instant) -> [Effect] {
        if push.type == .voip, isVoIPBlocked { return [.drop(push, .voipBlocked)] }
        if isAttached { return deliver(push, now: now) }
        if push.expiration == 0 { return [.drop(push, .phoneAway)] }
        // A provider may send any number, so the sum may overflow.
        let until =
            push.expiration.map { Instant(milliseconds: min($0, Int64.max / 1000) * 1000) }
            ?? now + Self.defaultRetention
        if until <= now { return [.drop(push, .expired)] }
        defer { (stored, storedUntil) = (push, until) }
        return [.store(push, replaced: stored?.id)]
    }

    /// The phone connected to APNs; stored pushes are delivered.
    public mutating func phoneAttached(now: Instant) -> [Effect] {
        isAttached = true
        let delivered = deliverHeld(now: now)
        guard let push = stored else { return delivered }
        stored = nil
        if push.type == .voip, isVoIPBlocked { return delivered + [.drop(push, .voipBlocked)] }
        if storedUntil <= now { return delivered + [.drop(push, .expired)] }
        return delivered + deliver(push, now: now)
    }

    /// The phone disconnected. Awaited reports remain due.
    public mutating func phoneDetached() {
        isAttached = false
    }

    /// The app reported the call of this push to CallKit.
    public mutating func pushReported(id: String, now: Instant) -> ReportVerdict {
        guard let index = awaited.firstIndex(where: { $0.id == id }) else { return .notAwaited }
        if let deadline = awaited[index].deadline, deadline <= now { return .notAwaited }
        awaited.remove(at: index)
        if !isVoIPBlocked { failures = 0 }
        return .accepted
    }

    public mutating func callsChanged(isInCall: Bool) {
        self.isInCall = isInCall
    }

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

    /// Kills the app if a report is overdue, and delivers a held background push once it is permitted.
    public mutating func handleTimeouts(now: Instant) -> [Effect] {
        let delivered = deliverHeld(now: now)
        guard let due = reportDeadline, due <= now else { return delivered }
        // All awaited reports end with the app and count as one failure.
        let unreported = awaited.filter { $0.deadline != nil }.map(\.id)
        awaited = []
        app = .killed
        isInCall = false
        failures += 1
        if failures >= Self.failuresUntilBlocked { isVoIPBlocked = true }
        return delivered + [.kill(unreported: unreported, isVoIPBlocked: isVoIPBlocked)]
    }

    // MARK: Helpers

    private mutating func deliver(_ push: AcceptedPush, now: Instant) -> [Effect] {
        switch push.type {
        case .alert:
            screen.show(ShownAlert(id: push.id, collapseID: push.collapseID, payload: push.payload))
            return [.deliver(push, mustReport: false)]
        case .background: return hold(push, now: now)
        case .voip:
            let mustReport = app != .foreground && !isInCall
            if app == .killed { app = .background }
            awaited.append(Awaited(id: push.id, deadline: mustReport ? now + reportWindow : nil))
            if !mustReport { forgetOldExempt() }
            return [.deliver(push, mustReport: mustReport)]
        }
    }

    private mutating func hold(_ push: AcceptedPush, now: Instant) -> [Effect] {
        let older = held?.id
        held = push
        backgroundDeliveries.removeAll { $0 + backgroundPeriod <= now }
        let isOver = older != nil || backgroundDeliveries.count >= backgroundPushes
        return (isOver ? [.hold(push, replaced: older)] : []) + deliverHeld(now: now)
    }

    private mutating func deliverHeld(now: Instant) -> [Effect] {
        guard let push = held, let turn = backgroundTurn, turn <= now else { return [] }
        held = nil
        backgroundDeliveries.removeAll { $0 + backgroundPeriod <= now }
        backgroundDeliveries.append(now)
        return [.deliver(push, mustReport: false)]
    }

    private mutating func forgetOldExempt() {
        guard awaited.count(where: { $0.deadline == nil }) > Self.rememberedExempt,
            let oldest = awaited.firstIndex(where: { $0.deadline == nil })
        else { return }
        awaited.remove(at: oldest)
    }
}
