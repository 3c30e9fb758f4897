import CallVocabulary
import EventLoop
import PhoneSimulator
import PushSimulator
import PushVocabulary
import SoftphoneKit
import SoftphoneSession

/// A call with an injected fault. It must end as the fault allows, at both sides; nothing of it is timed. Confined to
/// the phones' loop.
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

    /// How long a caller waits for a callee that cannot hear it.
    private static let patience = Duration.milliseconds(1500)
    /// The delay of a late push.
    private static let lateness = Duration.milliseconds(400)

    let fault: CallFault
    private let callerPhone: Softphone
    private let calleePhone: Callee
    private let loop: EventLoop
    private var timer: LoopTimer?
    private(set) var isCut = false
    private var isWokenTwice = false
    private var isOutOfReach = false
    private let onOver: (DisturbedCall, LoadCall.Happening) -> Void
    /// Set once, at the end of `init`: it calls back.
    private(set) var call: LoadCall!

    /// - Parameter onOver: called once, with the end or the failure.
    init(
        id: CallID, fault: CallFault, caller: (number: Int, phone: Softphone), callee: (number: Int, phone: Callee),
        environment: WorkloadEnvironment, onOver: @escaping (DisturbedCall, LoadCall.Happening) -> Void
    ) {
        self.fault = fault
        callerPhone = caller.phone
        calleePhone = callee.phone
        loop = environment.loop
        self.onOver = onOver
        call = LoadCall(
            id: id, caller: caller, callee: (callee.number, [callee.phone.softphone]), areWoken: fault.needsSleeper,
            outcome: fault == .callerHangsUp ? .cancelled : .answered, fault: fault, environment: environment
        ) { [unowned self] in happened($1) }
    }

    // MARK: The fault

    func begin(to user: Handle) {
        guard case .asleep(let phone) = calleePhone else { return invite(user) }
        // The fault of a push must be in place before the push.
        let isSettled: (Bool) -> Void = { [self] isTaken in
            guard !call.isOver else { return }
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
        call.invite(.user(user))
        switch fault {
        case .pushLost, .pushRefused: after(Self.patience) { if !$0.call.isAnswered { $0.call.hangUp() } }
        case .wakesLate: after(Self.lateness) { $0.bringBack() }
        case .callerCut, .calleeCut, .callerHangsUp, .pushLate, .wakesTwice: break
        }
    }

    private func after(_ time: Duration, _ action: @escaping (DisturbedCall) -> Void) {
        timer = LoopTimer(loop: loop) { [weak self] in
            if let self, !call.isOver { action(self) }
        }
        timer?.start(after: time)
    }

    // MARK: Events

    func callerHappened(_ event: SoftphoneEvent) {
        if fault == .callerCut { reconnect(callerPhone, event) }
        call.callerHappened(event)
    }

    func calleeHappened(_ event: SoftphoneEvent) {
        if fault == .calleeCut { reconnect(calleePhone.softphone, event) }
        call.deviceHappened(event)
    }

    func phoneHappened(_ event: WakeablePhone.Event) {
        if case .woken(let push) = event, push.call == call.id, fault == .wakesTwice, !isWokenTwice {
            isWokenTwice = true
            let phone = calleePhone.softphone
            loop.execute { phone.received(push) }
        }
        call.phoneHappened(event)
    }

    private func reconnect(_ phone: Softphone, _ event: SoftphoneEvent) {
        guard isCut, !call.isOver, case .connection(let change) = event else { return }
        switch change {
        case .down: phone.start()
        case .resumed: call.hangUp()
        case .gone(let reason): fail("the session was not resumed: \(reason)")
        case .up, .offline: fail("the session was not resumed")
        }
    }

    private func happened(_ happening: LoadCall.Happening) {
        switch happening {
        case .connected:
            switch fault {
            case .callerCut:
                isCut = true
                callerPhone.cutConnection()
            case .calleeCut:
                isCut = true
                calleePhone.softphone.cutConnection()
            case .callerHangsUp, .pushRefused, .pushLost, .pushLate, .wakesLate, .wakesTwice: call.hangUp()
            }
        case .ended, .failed:
            timer = nil
            bringBack()
            onOver(self, happening)
        }
    }

    func fail(_ reason: String) { call.fail(reason) }
}

@available(*, unavailable)
extension DisturbedCall: Sendable {}
