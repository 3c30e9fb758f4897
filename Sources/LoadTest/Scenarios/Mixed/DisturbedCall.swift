import CallVocabulary
import EventLoop
import PhoneSimulator
import PushSimulator
import PushVocabulary
import SoftphoneKit
import SoftphoneSession

/// One call that something is done to on purpose. It has to come to one of the ends that its fault allows, at both
/// sides, and nothing of it is timed. Confined to the phones' loop.
final class DisturbedCall {
    enum Callee {
        case online(Softphone)
        case asleep(WakeablePhone)

        var softphone: Softphone {
            switch self {
            case .online(let phone): phone
            case .asleep(let phone): phone.softphone
            }
        }
    }

    /// What comes of it.
    enum Ending {
        case asExpected(EndReason)
        case failed(String)
    }

    /// The least that an invite may ask for.
    private static let ringTime = Duration.seconds(5)
    /// How long a caller waits for somebody who cannot hear it.
    private static let patience = Duration.milliseconds(1500)
    /// How long a late push is late.
    private static let lateness = Duration.milliseconds(400)

    let id: CallID
    let fault: CallFault
    let caller: Int
    let callee: Int
    private let callerPhone: Softphone
    private let calleePhone: Callee
    private let loop: EventLoop
    private var timer: LoopTimer?
    private var isAnswered = false
    private var isConnectedSaid = false
    private var isCallerConnected = false
    private var isCalleeConnected = false
    private(set) var isCut = false
    private var isCalleeTold = false
    private var isCalleeEnded = false
    private var isWokenTwice = false
    private var isOutOfReach = false
    private var hasHungUp = false
    private var callerEnd: EndReason?
    private(set) var isOver = false
    /// Of its invite and its answer.
    private let description: RawJSON?
    private let onOver: (DisturbedCall, Ending) -> Void

    /// - Parameters:
    ///   - caller, callee: the phones, with their numbers for the owner.
    init(
        id: CallID, fault: CallFault, caller: (Int, Softphone), callee: (Int, Callee), description: RawJSON?,
        loop: EventLoop,
        onOver: @escaping (DisturbedCall, Ending) -> Void
    ) {
        self.id = id
        self.fault = fault
        (self.caller, callerPhone) = caller
        (self.callee, calleePhone) = callee
        self.description = description
        self.loop = loop
        self.onOver = onOver
    }

    func begin(to user: Handle) {
        guard case .asleep(let phone) = calleePhone else { return invite(user) }
        // What is to happen to the push must be settled before there can be one.
        let isSettled: (Bool) -> Void = { [self] isTaken in
            guard !isOver else { return }
            if isTaken { invite(user) } else { fail("the push simulator takes no fault") }
        }
        let isAsked: Bool
        if let pushFault {
            isAsked = phone.injectPushFault(pushFault, completion: isSettled)
        } else if fault == .wakesLate {
            isAsked = move(phone, to: .offline, then: isSettled)
        } else {
            return invite(user)
        }
        if !isAsked { fail("the push simulator cannot be asked for a fault") }
    }

    private func move(
        _ phone: WakeablePhone, to state: PhoneLink.PhoneState, then completion: @escaping (Bool) -> Void = { _ in }
    ) -> Bool {
        isOutOfReach = state == .offline
        return phone.move(to: state, completion: completion)
    }

    /// The next call finds the phone as this one found it.
    private func bringBack() {
        guard isOutOfReach, case .asleep(let phone) = calleePhone else { return }
        _ = move(phone, to: .online)
    }

    private var pushFault: PushFaultOrder? {
        var order: PushFaultOrder
        switch fault {
        case .pushRefused:
            order = PushFaultOrder(.refuse)
            order.reason = APNSReason.serviceUnavailable.rawValue
        case .pushLost: order = PushFaultOrder(.lose)
        case .pushLate:
            order = PushFaultOrder(.late)
            order.delayMilliseconds = Int64(Self.lateness / .milliseconds(1))
        case .callerCut, .calleeCut, .callerHangsUp, .wakesLate, .wakesTwice: return nil
        }
        order.count = 1
        return order
    }

    private func invite(_ user: Handle) {
        submit(.invite(Invite(call: id, to: .user(user), ringTime: Self.ringTime, sdp: description)), by: callerPhone) {
            call, reply in
            if case .inviteEnded(_, let reason) = reply { call.callerEnded(reason) }
        }
        switch fault {
        case .pushLost, .pushRefused: after(Self.patience) { $0.hangUp() }
        case .wakesLate:
            after(Self.lateness) { $0.bringBack() }
        case .callerCut, .calleeCut, .callerHangsUp, .pushLate, .wakesTwice: break
        }
    }

    private func after(_ time: Duration, _ action: @escaping (DisturbedCall) -> Void) {
        timer = LoopTimer(loop: loop) { [weak self] in
            if let self, !isOver { action(self) }
        }
        timer?.start(after: time)
    }

    // MARK: At the caller

    func callerHappened(_ event: SoftphoneEvent) {
        switch event {
        case .state(let call) where call.id == id:
            if call.state == .ringing, fault == .callerHangsUp { hangUp() }
            if call.state == .answered || call.state == .connected { sayConnected() }
            if call.state == .connected { isCallerConnected = true }
            disturbIfConnected()
        case .ended(let call) where call.id == id: callerEnded(call.reason)
        case .connection(let change) where isCut && fault == .callerCut: cameBack(change, callerPhone)
        case .state, .ended, .connection, .incoming, .merged, .offer, .candidates, .update, .peer, .latePush, .draining:
            break
        }
    }

    private func sayConnected() {
        guard !isConnectedSaid else { return }
        isConnectedSaid = true
        // The call is answered: the caller waits no longer.
        timer = nil
        submit(.connected(id), by: callerPhone) { _, _ in }
    }

    private func callerEnded(_ reason: EndReason?) {
        guard !isOver, callerEnd == nil else { return }
        guard let reason, fault.ends.contains(reason) else { return fail("ended: \(reason?.rawValue ?? "no reason")") }
        callerEnd = reason
        endIfOver()
    }

    private func hangUp() {
        guard !isOver, !hasHungUp else { return }
        hasHungUp = true
        submit(.hangup(id, .hangup), by: callerPhone) { _, _ in }
    }

    // MARK: At the callee

    func phoneHappened(_ event: WakeablePhone.Event) {
        switch event {
        case .woken(let push) where push.call == id:
            isCalleeTold = true
            guard fault == .wakesTwice, !isWokenTwice, case .asleep(let phone) = calleePhone else { break }
            isWokenTwice = true
            loop.execute { phone.softphone.received(push) }
        case .reportedToServer(let push, let failure?) where push.call == id: fail("report: \(failure)")
        case .app(let event): calleeHappened(event)
        case .pushed, .woken, .notified, .reportedToSystem, .reportedToServer, .killed, .failed, .unreachable, .asleep:
            break
        }
    }

    func calleeHappened(_ event: SoftphoneEvent) {
        switch event {
        case .incoming(let call, _) where call.id == id:
            isCalleeTold = true
            answer()
        case .state(let call) where call.id == id:
            if call.state == .connected { isCalleeConnected = true }
            disturbIfConnected()
        case .ended(let call) where call.id == id: calleeEnded()
        case .latePush(let push, _) where push.call == id: calleeEnded()
        case .connection(let change) where isCut && fault == .calleeCut: cameBack(change, calleePhone.softphone)
        case .incoming, .state, .ended, .peer, .latePush, .connection, .merged, .offer, .candidates, .update, .draining:
            break
        }
    }

    private func answer() {
        guard !isAnswered, fault != .callerHangsUp else { return }
        isAnswered = true
        submit(.answer(id, sdp: description), by: calleePhone.softphone) { call, _ in
            call.submit(.connected(call.id), by: call.calleePhone.softphone) { _, _ in }
        }
    }

    private func calleeEnded() {
        isCalleeEnded = true
        endIfOver()
    }

    // MARK: While it stands

    private func disturbIfConnected() {
        guard isCallerConnected, isCalleeConnected, !isCut, !isOver else { return }
        switch fault {
        case .callerCut:
            isCut = true
            callerPhone.cutConnection()
        case .calleeCut:
            isCut = true
            calleePhone.softphone.cutConnection()
        case .callerHangsUp, .pushRefused, .pushLost, .pushLate, .wakesLate, .wakesTwice: hangUp()
        }
    }

    private func cameBack(_ change: ConnectionChange, _ phone: Softphone) {
        switch change {
        case .down: phone.start()
        case .resumed: hangUp()
        case .up: fail("the session was not resumed")
        case .gone(let reason): fail("the session was not resumed: \(reason)")
        case .offline: fail("the session was not resumed")
        }
    }

    // MARK: The end

    private func endIfOver() {
        guard !isOver, let callerEnd, isCalleeEnded || !isCalleeTold else { return }
        finish(.asExpected(callerEnd))
    }

    /// A command that comes when the call is over already changes nothing: the end itself is what counts.
    private func submit(
        _ command: ClientRequest, by phone: Softphone, then: @escaping @Sendable (DisturbedCall, Reply) -> Void
    ) {
        let me = LoopBound(self, on: loop)
        phone.submit(command) { result in
            let call = me.value
            guard !call.isOver else { return }
            switch result {
            case .success(let reply): then(call, reply)
            case .failure(.callEnded): break
            case .failure(let error): call.fail("\(OnlineCall.name(of: command)): \(error)")
            }
        }
    }

    func fail(_ reason: String) {
        guard !isOver else { return }
        finish(.failed("\(fault.rawValue): \(reason)"))
    }

    private func finish(_ ending: Ending) {
        isOver = true
        timer = nil
        bringBack()
        onOver(self, ending)
    }
}

@available(*, unavailable)
extension DisturbedCall: Sendable {}
