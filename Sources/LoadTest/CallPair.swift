import CallVocabulary
import EventLoop
import SoftphoneKit

/// The steps of a call that are timed.
enum CallStage: String, CaseIterable {
    case invite, incoming, ringing, answered, connected, ended

    var definition: String {
        switch self {
        case .invite: "call.invite sent to its answer: the call is on disk"
        case .incoming: "call.invite sent to call.incoming at the callee"
        case .ringing: "call.invite sent to ringing at the caller"
        case .answered: "call.answer sent by the callee to answered at the caller"
        case .connected: "call.answer sent by the callee to connected at both sides"
        case .ended: "call.hangup sent by the caller to the end at both sides"
        }
    }
}

/// A caller and a callee who have one call after the other: the callee answers at once, both say connected.
///
/// Confined to the phones' loop.
final class CallPair {
    /// What the pair tells its owner.
    enum Happening {
        case passed(CallStage, after: Duration)
        /// Both sides are connected.
        case connected
        /// The call is over at both sides, hung up by the caller.
        case ended
        /// The call came to nothing; the pair may place the next one.
        case failed(reason: String)
    }

    private struct Current {
        let id: CallID
        let invitedAt: ContinuousClock.Instant
        var answeredAt: ContinuousClock.Instant?
        var hungUpAt: ContinuousClock.Instant?
        /// How far the caller has come; states may be skipped when they come close together.
        var state = CallState.routing
        var connectedSides: Set<CallRole> = []
        var endedSides: Set<CallRole> = []
    }

    let caller: Softphone
    let callee: Softphone
    private let calleeUser: Handle
    private let loop: EventLoop
    private let happened: (CallPair, Happening) -> Void
    private var current: Current?

    init(
        caller: Softphone, callee: Softphone, calleeUser: Handle, loop: EventLoop,
        happened: @escaping (CallPair, Happening) -> Void
    ) {
        self.caller = caller
        self.callee = callee
        self.calleeUser = calleeUser
        self.loop = loop
        self.happened = happened
    }

    /// The call there is.
    var call: CallID? { current?.id }

    /// Places a call. Not before the last one has ended or failed.
    func place() {
        precondition(current == nil, "the pair has a call already")
        let id = CallID.random()
        current = Current(id: id, invitedAt: .now)
        submit(.invite(Invite(call: id, to: .user(calleeUser))), by: caller, of: id) { pair, reply in
            if case .inviteEnded(_, let reason) = reply { return pair.fail("invite: \(reason.rawValue)") }
            pair.passed(.invite, since: pair.current?.invitedAt)
        }
    }

    func hangUp() {
        guard let id = current?.id else { return }
        current?.hungUpAt = .now
        submit(.hangup(id, .hangup), by: caller, of: id) { _, _ in }
    }

    // MARK: Events

    func callerHappened(_ event: SoftphoneEvent) {
        switch event {
        case .state(let call) where call.id == current?.id: callerReached(call.state)
        case .ended(let call) where call.id == current?.id: sideEnded(call)
        case .state, .ended, .merged, .incoming, .offer, .candidates, .update, .latePush, .connection, .draining: break
        }
    }

    func calleeHappened(_ event: SoftphoneEvent) {
        switch event {
        case .incoming(let call, _) where call.id == current?.id: answer(call.id)
        case .state(let call) where call.id == current?.id:
            if call.state == .connected { sideConnected(.callee) }
        case .ended(let call) where call.id == current?.id: sideEnded(call)
        case .incoming, .state, .ended, .merged, .offer, .candidates, .update, .latePush, .connection, .draining: break
        }
    }

    private func answer(_ id: CallID) {
        passed(.incoming, since: current?.invitedAt)
        current?.answeredAt = .now
        submit(.answer(id, sdp: nil), by: callee, of: id) { pair, _ in
            pair.submit(.connected(id), by: pair.callee, of: id) { _, _ in }
        }
    }

    private func callerReached(_ state: CallState) {
        guard let before = current?.state, let id = current?.id else { return }
        current?.state = state
        if before.isRingingPhase, before != .ringing, state == .ringing {
            passed(.ringing, since: current?.invitedAt)
        }
        if before.isRingingPhase, !state.isRingingPhase {
            passed(.answered, since: current?.answeredAt)
            submit(.connected(id), by: caller, of: id) { _, _ in }
        }
        if state == .connected { sideConnected(.caller) }
    }

    private func sideConnected(_ side: CallRole) {
        guard current?.connectedSides.insert(side).inserted == true, current?.connectedSides.count == 2 else { return }
        passed(.connected, since: current?.answeredAt)
        happened(self, .connected)
    }

    private func sideEnded(_ call: PhoneCall) {
        guard current?.hungUpAt != nil, call.reason == .hangup else {
            return fail("ended: \(call.reason?.rawValue ?? "no reason")")
        }
        current?.endedSides.insert(call.role)
        guard current?.endedSides.count == 2 else { return }
        passed(.ended, since: current?.hungUpAt)
        current = nil
        happened(self, .ended)
    }

    private func passed(_ stage: CallStage, since start: ContinuousClock.Instant?) {
        if let start { happened(self, .passed(stage, after: start.duration(to: .now))) }
    }

    // MARK: Commands

    /// Gives a command of the call `id`; what comes of it counts as long as that is the pair's call.
    private func submit(
        _ command: ClientRequest, by phone: Softphone, of id: CallID,
        then: @escaping @Sendable (CallPair, Reply) -> Void
    ) {
        let me = LoopBound(self, on: loop)
        phone.submit(command) { result in
            let pair = me.value
            guard pair.current?.id == id else { return }
            switch result {
            case .success(let reply): then(pair, reply)
            case .failure(let error): pair.fail("\(Self.name(of: command)): \(error)")
            }
        }
    }

    private static func name(of command: ClientRequest) -> String {
        switch command {
        case .invite: "invite"
        case .answer: "answer"
        case .connected: "connected"
        case .hangup: "hangup"
        case .open, .state, .close, .logout, .updateDevice, .report, .ringing, .decline, .update, .get, .list,
            .clearMissed:
            "command"
        }
    }

    private func fail(_ reason: String) {
        guard let id = current?.id else { return }
        current = nil
        // What is left of it at the server is not to disturb the next call.
        caller.submit(.hangup(id, .hangup)) { _ in }
        happened(self, .failed(reason: reason))
    }
}

@available(*, unavailable)
extension CallPair: Sendable {}
