import CallVocabulary
import Determinism
import EventLoop
import PhoneSimulator
import SoftphoneKit
import SoftphoneSession

/// One call of a phone that is online to one device or to many, until every side knows of its end.
///
/// ```
/// invited ─▶ told to every device ─▶ answered by one ─▶ connected ─▶ hung up after the hold ─▶ ended
///    │           └─▶ declined by it        └─▶ ended at every other device                       ▲
///    └─▶ hung up by the caller while it rings ──────────────────────────────────────────────────┘
/// ```
/// The answering device acts once every device knows of the call. A device that a push woke knows of it once its new
/// session has told it. The call is over when the caller and the answering device have been told of its end, and the
/// server has answered the report of every push. Confined to the phones' loop.
final class LoadCall {
    /// A report of the call to its owner.
    enum Happening {
        /// Both sides are connected, and the call has ended at every other device: hang up after the hold.
        case connected
        /// The call is over, with an expected end.
        case ended
        case failed(reason: String)
    }

    private struct Leg {
        enum State: Int { case untold, shown, known, ended }

        var state = State.untold
        var pushReadAt: ContinuousClock.Instant?
        var isReported = false
    }

    /// The ring time of a call with a fault: the least that an invite may ask for.
    private static let faultRingTime = Duration.seconds(5)

    let id: CallID
    /// The numbers that the owner has for them.
    let caller: Int
    let callee: Int
    private let callerPhone: Softphone
    private let devices: [Softphone]
    private let answering: Int
    private let areWoken: Bool
    private let outcome: CallOutcome
    private let fault: CallFault?
    /// The stages that are recorded.
    private let stages: [LoadStage]
    private let due: ContinuousClock.Instant
    /// The SDP of its invite and its answer.
    private let description: RawJSON?
    private let recorder: Recorder
    private let loop: EventLoop
    private let happened: (LoadCall, Happening) -> Void

    private var callerState = CallState.routing
    private var legs: [Leg]
    private var told = 0
    private var shown = 0
    private var known = 0
    private var othersEnded = 0
    private var pushed = 0
    private var reported = 0
    /// When a frame of the call reached the socket of the last device so far.
    private var lastTold: ContinuousClock.Instant?
    /// The push that a device just got: when the simulator gave it to the device, and when the device read it.
    private var latestPush: (accepted: ContinuousClock.Instant, read: ContinuousClock.Instant)?
    private var lastPushAccepted: ContinuousClock.Instant?
    private var answeredAt: ContinuousClock.Instant?
    private var hungUpAt: ContinuousClock.Instant?
    private var isAnswererConnected = false
    private var areSidesConnected = false
    private var isConnected = false
    private var isEndTimed = false
    /// The reason of the end that the caller was told.
    private(set) var end: EndReason?
    private(set) var isOver = false

    /// - Parameters:
    ///   - answering: the index of the device that answers or declines.
    ///   - areWoken: the devices are asleep.
    ///   - fault: the fault that is injected, which allows other ends, and devices that never learn of the call.
    ///   - due: the start of the stages that count from the invite.
    init(
        id: CallID, caller: (number: Int, phone: Softphone), callee: (number: Int, devices: [Softphone]),
        answering: Int = 0, areWoken: Bool = false, outcome: CallOutcome = .answered, fault: CallFault? = nil,
        stages: [LoadStage] = [], due: ContinuousClock.Instant = .now, environment: WorkloadEnvironment,
        happened: @escaping (LoadCall, Happening) -> Void
    ) {
        self.id = id
        (self.caller, callerPhone) = caller
        (self.callee, devices) = callee
        (self.answering, self.areWoken, self.outcome, self.fault) = (answering, areWoken, outcome, fault)
        (self.stages, self.due) = (stages, due)
        description = SampleDescription.of(environment.plan)
        recorder = environment.recorder
        loop = environment.loop
        self.happened = happened
        legs = Array(repeating: Leg(), count: callee.devices.count)
    }

    var isAnswered: Bool { answeredAt != nil }

    /// Whether a device has had a push for the call.
    func hasPush(_ leg: Int = 0) -> Bool { legs[leg].pushReadAt != nil }

    func invite(_ target: CallTarget) {
        var invite = Invite(call: id, to: target, sdp: description)
        if fault != nil { invite.ringTime = Self.faultRingTime }
        submit(.invite(invite), by: callerPhone) { call, reply in
            if case .inviteEnded(_, let reason) = reply { return call.callerEnded(reason) }
            call.passed(.inviteResult)
        }
    }

    func hangUp() {
        guard !isOver, hungUpAt == nil else { return }
        hungUpAt = .now
        submit(.hangup(id, .hangup), by: callerPhone) { _, _ in }
    }

    private func passed(_ stage: LoadStage, at now: ContinuousClock.Instant = .now) {
        passed(stage, since: due, at: now)
    }

    private func passed(
        _ stage: LoadStage, since start: ContinuousClock.Instant, at now: ContinuousClock.Instant = .now
    ) {
        if stages.contains(stage) { recorder.passed(stage, since: start, at: now) }
    }

    // MARK: At the caller

    func callerHappened(_ event: SoftphoneEvent) {
        guard !isOver else { return }
        switch event {
        case .state(let call) where call.id == id: callerReached(call)
        case .ended(let call) where call.id == id: callerEnded(call.reason)
        case .state, .ended, .incoming, .merged, .offer, .candidates, .update, .peer, .latePush, .connection, .draining:
            break
        }
    }

    private func callerReached(_ call: PhoneCall) {
        guard call.state != .answered || call.sdp == description else {
            return fail("the answer came without what it carried")
        }
        // States may be skipped when they come close together.
        let before = callerState
        callerState = call.state
        if before.isRingingPhase, before != .ringing, call.state == .ringing {
            passed(.inviteRinging)
            if outcome == .cancelled { hangUp() }
        }
        if before.isRingingPhase, !call.state.isRingingPhase, let answeredAt {
            passed(.inviteAnswered)
            passed(.answerAnswered, since: answeredAt)
            submit(.connected(id), by: callerPhone) { _, _ in }
        }
        connectedIfAllKnow()
    }

    private func callerEnded(_ reason: EndReason?) {
        guard isExpected(reason) else { return fail("ended: \(Self.words(reason))") }
        end = reason
        endIfOver()
    }

    // MARK: At the devices

    /// What happened to a phone that is woken.
    func phoneHappened(_ event: WakeablePhone.Event, leg: Int = 0) {
        guard !isOver else { return }
        switch event {
        case .pushed(let push): latestPush = (push.delivered, .now)
        // A push for an earlier call, which has failed, may come late.
        case .woken(let push) where push.call == id: isPushed(leg)
        case .reportedToServer(let push, let failure) where push.call == id:
            if let failure { return fail("report: \(failure)") }
            isReported(leg)
        case .app(let event): deviceHappened(event, leg: leg)
        case .woken, .notified, .reportedToSystem, .reportedToServer, .workerSent, .killed, .failed, .unreachable,
            .asleep:
            break
        }
    }

    private func isPushed(_ leg: Int) {
        // Only the first push of a device counts.
        guard let latestPush, legs[leg].pushReadAt == nil else { return }
        legs[leg].pushReadAt = latestPush.read
        pushed += 1
        let last = max(lastPushAccepted ?? latestPush.accepted, latestPush.accepted)
        lastPushAccepted = last
        passed(.invitePushAccepted, at: latestPush.accepted)
        passed(.invitePush, at: latestPush.read)
        if pushed == legs.count { passed(.lastPushAccepted, at: last) }
    }

    private func isReported(_ leg: Int) {
        guard !legs[leg].isReported, let pushReadAt = legs[leg].pushReadAt else { return }
        legs[leg].isReported = true
        reported += 1
        passed(.pushReported, since: pushReadAt)
        endIfOver()
    }

    func deviceHappened(_ event: SoftphoneEvent, leg: Int = 0) {
        guard !isOver else { return }
        switch event {
        case .incoming(let call, _) where call.id == id: isShown(leg, call)
        case .offer(let call) where call.id == id && areWoken: isKnown(leg, call)
        case .state(let call) where call.id == id:
            // A new session tells of its calls by their states too.
            if areWoken, call.state.isRingingPhase { isKnown(leg) }
            if leg == answering, call.state == .connected { isAnswererConnected = true }
            connectedIfAllKnow()
        case .ended(let call) where call.id == id: deviceEnded(leg, call.reason)
        case .latePush(let push, let reason) where push.call == id && fault != nil: deviceEnded(leg, reason)
        case .incoming, .offer, .state, .ended, .merged, .candidates, .update, .peer, .latePush, .connection, .draining:
            break
        }
    }

    private func isShown(_ leg: Int, _ call: PhoneCall? = nil) {
        guard legs[leg].state == .untold else { return fail("a device was told twice of the call") }
        legs[leg].state = .shown
        shown += 1
        let now = ContinuousClock.now
        if stages.contains(.lastTold), let age = devices[leg].lastReceivedAge {
            told += 1
            lastTold = max(lastTold ?? due, now - age)
        }
        if shown == 1 { passed(.firstRing, at: now) }
        if shown == legs.count {
            if told == shown, let lastTold { passed(.lastTold, at: lastTold) }
            passed(.lastRing, at: now)
        }
        if !areWoken { isKnown(leg, call) } else if fault != nil { isKnown(leg) }
    }

    /// - Parameter call: with the SDP that the device was told; nil where it was told none.
    private func isKnown(_ leg: Int, _ call: PhoneCall? = nil) {
        if let call, call.sdp != description { return fail("the call came without what its invite carried") }
        if legs[leg].state == .untold { isShown(leg) }
        guard legs[leg].state == .shown else { return }
        legs[leg].state = .known
        known += 1
        guard known == legs.count else { return }
        let now = ContinuousClock.now
        passed(.inviteIncoming, at: now)
        passed(.lastOnline, at: now)
        switch outcome {
        case .answered:
            answeredAt = now
            submit(.answer(id, sdp: description), by: devices[answering]) { call, _ in
                call.submit(.connected(call.id), by: call.devices[call.answering]) { _, _ in }
            }
        case .declined: submit(.decline(id, .declined), by: devices[answering]) { _, _ in }
        case .cancelled: break
        }
    }

    private func deviceEnded(_ leg: Int, _ reason: EndReason?) {
        guard legs[leg].state != .ended else { return fail("a device was told twice of the end") }
        legs[leg].state = .ended
        if leg == answering {
            guard fault != nil || isExpected(reason) else { return fail("ended: \(Self.words(reason))") }
            return endIfOver()
        }
        guard reason == .answeredElsewhere, let answeredAt else {
            return fail("the end at a device: \(Self.words(reason))")
        }
        let now = ContinuousClock.now
        othersEnded += 1
        passed(.answerTold, since: answeredAt, at: now)
        if othersEnded == legs.count - 1 { passed(.othersTold, since: answeredAt, at: now) }
        connectedIfAllKnow()
    }

    private static func words(_ reason: EndReason?) -> String { reason?.rawValue ?? "no reason" }

    // MARK: At both sides

    private func connectedIfAllKnow() {
        guard !isOver, callerState == .connected, isAnswererConnected, let answeredAt else { return }
        if !areSidesConnected {
            areSidesConnected = true
            passed(.answerConnected, since: answeredAt)
        }
        guard !isConnected, othersEnded == legs.count - 1 else { return }
        isConnected = true
        happened(self, .connected)
    }

    private func isExpected(_ reason: EndReason?) -> Bool {
        guard let reason else { return false }
        if let fault { return fault.ends.contains(reason) }
        return switch outcome {
        case .answered: reason == .hangup && hungUpAt != nil
        case .declined: reason == .declined
        case .cancelled: reason == .cancelled && hungUpAt != nil
        }
    }

    private func endIfOver() {
        let leg = legs[answering]
        let isUntold = leg.state == .untold && leg.pushReadAt == nil
        guard !isOver, end != nil, leg.state == .ended || fault != nil && isUntold else { return }
        if !isEndTimed, outcome == .answered, let hungUpAt {
            isEndTimed = true
            passed(.hangupEnded, since: hungUpAt)
        }
        guard fault != nil || !areWoken || reported == legs.count else { return }
        isOver = true
        happened(self, .ended)
    }

    /// Submits a command. Its result counts as long as the call is not over.
    private func submit(
        _ command: ClientRequest, by phone: Softphone, then: @escaping @Sendable (LoadCall, Reply) -> Void
    ) {
        let me = LoopBound(self, on: loop)
        phone.submit(command) { result in
            let call = me.value
            guard !call.isOver else { return }
            switch result {
            case .success(let reply): then(call, reply)
            // With a fault, a command may meet the end of the call.
            case .failure(.callEnded) where call.fault != nil: break
            case .failure(.refused(let error)) where error.isOverload:
                if case .owner(.invite) = command { call.passed(.inviteRefused) }
                call.fail("\(Self.name(of: command)): refused as overloaded")
            case .failure(let error): call.fail("\(Self.name(of: command)): \(error)")
            }
        }
    }

    private static func name(of command: ClientRequest) -> String {
        switch command {
        case .owner(.invite): "invite"
        case .call(.answer): "answer"
        case .call(.decline): "decline"
        case .call(.connected): "connected"
        case .call(.hangup): "hangup"
        case .open, .session, .call, .owner: "command"
        }
    }

    func fail(_ reason: String) {
        guard !isOver else { return }
        isOver = true
        happened(self, .failed(reason: reason))
    }
}

@available(*, unavailable)
extension LoadCall: Sendable {}

/// How a call is to end, drawn before it begins.
enum CallOutcome: CaseIterable {
    /// Answered, connected, and hung up by the caller after the hold.
    case answered
    /// Declined by the callee.
    case declined
    /// Hung up by the caller while it rings.
    case cancelled

    /// - Parameter answerRatio: the share of answered calls; the others are declined and cancelled in halves.
    static func random(answerRatio: Double, using generator: inout SeededGenerator) -> CallOutcome {
        let drawn = Double.random(in: 0..<1, using: &generator)
        if drawn < answerRatio { return .answered }
        return drawn < answerRatio + (1 - answerRatio) / 2 ? .declined : .cancelled
    }
}

extension SignalError {
    fileprivate var isOverload: Bool { if case .overloaded = code { true } else { false } }
}
