import CallVocabulary
import EventLoop
import PhoneSimulator
import SoftphoneKit
import SoftphoneSession

/// One call to many devices, from its invite until all of them have been told of its end.
///
/// ```
/// invited ─▶ shown by the first … the last device ─▶ answered by the winner ─▶ connected at both
///                                                        └─▶ the end at each other device
///         ─▶ hung up after the hold ─▶ ended at the caller and at the winner
/// ```
/// The winner answers once the last device knows of the call, so that each has to be told twice: of the call and of its
/// end. Confined to the phones' loop.
final class FanOutCall {
    /// What the call tells its owner.
    enum Happening {
        /// Both sides are connected and all others know: hang up when it was held long enough.
        case connected
        /// The call is over, as it was meant to be.
        case ended
        case failed(reason: String)
    }

    /// How far a device has come.
    private enum Leg {
        case untold
        /// It shows the call.
        case shown
        /// It shows the call and its session has told it: what a device that was online is at once.
        case known
        case ended
    }

    let id: CallID
    let place: Int
    private let callerPhone: Softphone
    private let winner: Int
    private let winnerPhone: Softphone
    private let areWoken: Bool
    private let due: ContinuousClock.Instant
    private let environment: WorkloadEnvironment
    private let happened: (FanOutCall, Happening) -> Void

    private var legs: [Leg]
    /// Devices of which it is known when the call came to their sockets; the last of them.
    private var told = 0
    private var lastTold: ContinuousClock.Instant?
    private var shown = 0
    private var known = 0
    private var othersEnded = 0
    private var pushed: Set<Int> = []
    /// Of the push that a device just got, when it was given to it; of those of this call, the last.
    private var accepted: ContinuousClock.Instant?
    private var lastPushAccepted: ContinuousClock.Instant?
    private var reportsAnswered = 0
    private var answeredAt: ContinuousClock.Instant?
    private var hungUpAt: ContinuousClock.Instant?
    private var isCallerToldOfRinging = false
    private var isCallerAnswered = false
    private var isCallerConnected = false
    private var isWinnerConnected = false
    private var areSidesConnected = false
    private var isStanding = false
    private var isCallerEnded = false
    private(set) var isOver = false

    /// - Parameters:
    ///   - winner: the number of the device that answers, among `devices`.
    ///   - areWoken: the devices sleep.
    init(
        id: CallID, place: Int, caller: Softphone, devices: Int, winner: (Int, Softphone), areWoken: Bool,
        due: ContinuousClock.Instant, environment: WorkloadEnvironment,
        happened: @escaping (FanOutCall, Happening) -> Void
    ) {
        self.id = id
        self.place = place
        callerPhone = caller
        (self.winner, winnerPhone) = winner
        self.areWoken = areWoken
        self.due = due
        self.environment = environment
        self.happened = happened
        legs = Array(repeating: .untold, count: devices)
    }

    private var recorder: Recorder { environment.recorder }

    func invite(_ target: CallTarget) {
        submit(.invite(Invite(call: id, to: target, sdp: SampleDescription.of(environment.plan))), by: callerPhone) {
            call, reply in
            if case .inviteEnded(_, let reason) = reply { return call.fail("invite: \(reason.rawValue)") }
            call.recorder.passed(.inviteResult, since: call.due)
        }
    }

    func hangUp() {
        guard !isOver else { return }
        hungUpAt = .now
        submit(.hangup(id, .hangup), by: callerPhone) { _, _ in }
    }

    // MARK: At the caller

    func callerHappened(_ event: SoftphoneEvent) {
        switch event {
        case .state(let call) where call.id == id:
            if call.state == .ringing, !isCallerToldOfRinging {
                isCallerToldOfRinging = true
                recorder.passed(.inviteRinging, since: due)
            }
            if !call.state.isRingingPhase, !isCallerAnswered, let answeredAt {
                isCallerAnswered = true
                recorder.passed(.inviteAnswered, since: due)
                recorder.passed(.answerAnswered, since: answeredAt)
                submit(.connected(id), by: callerPhone) { _, _ in }
            }
            if call.state == .connected { isCallerConnected = true }
            standIfAllKnow()
        case .ended(let call) where call.id == id:
            guard call.reason == .hangup, hungUpAt != nil else { return fail("ended: \(Self.words(call.reason))") }
            isCallerEnded = true
            endIfOver()
        case .state, .ended, .incoming, .merged, .offer, .candidates, .update, .peer, .latePush, .connection, .draining:
            break
        }
    }

    // MARK: At the devices

    /// What happened to a phone that is woken.
    func phoneHappened(_ event: WakeablePhone.Event, leg: Int) {
        switch event {
        case .pushed(let push): accepted = push.delivered
        // One for a call before, which has failed, may come late.
        case .woken(let push) where push.call == id: isPushed(leg)
        case .reportedToServer(let push, let failure) where push.call == id:
            if let failure { return fail("report: \(failure)") }
            reportsAnswered += 1
            endIfOver()
        case .app(let event): legHappened(event, leg: leg)
        case .woken, .notified, .reportedToSystem, .reportedToServer, .killed, .failed, .unreachable, .asleep: break
        }
    }

    private func isPushed(_ leg: Int) {
        // A push that comes again is none of the first.
        guard let accepted, pushed.insert(leg).inserted else { return }
        let last = max(lastPushAccepted ?? accepted, accepted)
        lastPushAccepted = last
        if pushed.count == legs.count { recorder.passed(.lastPushAccepted, since: due, at: last) }
    }

    /// What happened to a device that was online before the call.
    func deviceHappened(_ event: SoftphoneEvent, leg: Int, of phone: Softphone?) {
        if case .incoming(let call, _) = event, call.id == id, let age = phone?.lastReceivedAge {
            lastTold = max(lastTold ?? due, .now - age)
            told += 1
        }
        legHappened(event, leg: leg)
    }

    private func legHappened(_ event: SoftphoneEvent, leg: Int) {
        switch event {
        case .incoming(let call, _) where call.id == id: isShown(leg)
        case .offer(let call) where call.id == id: isKnown(leg)
        case .state(let call) where call.id == id:
            // A new session tells of its calls either so or by `call.incoming`.
            if call.state.isRingingPhase { isKnown(leg) }
            if leg == winner, call.state == .connected { isWinnerConnected = true }
            standIfAllKnow()
        case .ended(let call) where call.id == id: legEnded(leg, call.reason)
        case .latePush(let push, let reason) where push.call == id: fail("a push came late: \(reason.rawValue)")
        case .incoming, .offer, .state, .ended, .merged, .candidates, .update, .peer, .latePush, .connection, .draining:
            break
        }
    }

    private func isShown(_ leg: Int) {
        guard !isOver else { return }
        guard legs[leg] == .untold else { return fail("a device was told twice of the call") }
        legs[leg] = .shown
        shown += 1
        let now = ContinuousClock.now
        if shown == 1 { recorder.passed(.firstRing, since: due, at: now) }
        if shown == legs.count {
            if told == shown, let lastTold { recorder.passed(.lastTold, since: due, at: lastTold) }
            recorder.passed(.lastRing, since: due, at: now)
        }
        if !areWoken { isKnown(leg) }
    }

    private func isKnown(_ leg: Int) {
        guard !isOver, legs[leg] == .shown else { return }
        legs[leg] = .known
        known += 1
        guard known == legs.count else { return }
        let now = ContinuousClock.now
        if areWoken { recorder.passed(.lastOnline, since: due, at: now) }
        answeredAt = now
        submit(.answer(id, sdp: SampleDescription.of(environment.plan)), by: winnerPhone) { call, _ in
            call.submit(.connected(call.id), by: call.winnerPhone) { _, _ in }
        }
    }

    private func legEnded(_ leg: Int, _ reason: EndReason?) {
        guard legs[leg] != .ended else { return fail("a device was told twice of the end") }
        legs[leg] = .ended
        if leg == winner {
            guard reason == .hangup, hungUpAt != nil else { return fail("the winner's end: \(Self.words(reason))") }
            return endIfOver()
        }
        guard reason == .answeredElsewhere, let answeredAt else {
            return fail("the end at a device: \(Self.words(reason))")
        }
        let now = ContinuousClock.now
        othersEnded += 1
        recorder.passed(.answerTold, since: answeredAt, at: now)
        if othersEnded == legs.count - 1 { recorder.passed(.othersTold, since: answeredAt, at: now) }
        standIfAllKnow()
    }

    private static func words(_ reason: EndReason?) -> String { reason?.rawValue ?? "no reason" }

    // MARK: The end

    private func standIfAllKnow() {
        guard !isOver, isCallerConnected, isWinnerConnected, let answeredAt else { return }
        if !areSidesConnected {
            areSidesConnected = true
            recorder.passed(.answerConnected, since: answeredAt)
        }
        guard !isStanding, othersEnded == legs.count - 1 else { return }
        isStanding = true
        happened(self, .connected)
    }

    private func endIfOver() {
        guard !isOver, isCallerEnded, legs[winner] == .ended, !areWoken || reportsAnswered >= legs.count else { return }
        if let hungUpAt { recorder.passed(.hangupEnded, since: hungUpAt) }
        isOver = true
        happened(self, .ended)
    }

    private func submit(
        _ command: ClientRequest, by phone: Softphone, then: @escaping @Sendable (FanOutCall, Reply) -> Void
    ) {
        let me = LoopBound(self, on: environment.loop)
        phone.submit(command) { result in
            let call = me.value
            guard !call.isOver else { return }
            switch result {
            case .success(let reply): then(call, reply)
            case .failure(let error): call.fail("\(OnlineCall.name(of: command)): \(error)")
            }
        }
    }

    private func fail(_ reason: String) {
        guard !isOver else { return }
        isOver = true
        happened(self, .failed(reason: reason))
    }
}

@available(*, unavailable)
extension FanOutCall: Sendable {}
