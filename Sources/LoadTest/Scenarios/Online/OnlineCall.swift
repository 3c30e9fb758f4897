import CallVocabulary
import EventLoop
import SoftphoneKit
import SoftphoneSession

/// One call between two phones, from its invite to its end at both sides. The caller is online; the callee is, or is
/// woken by a push and acts once its new session has told it of the call.
///
/// ```
/// invited ─▶ (answered) ─▶ connected at both ─▶ hung up after the hold ─▶ ended at both
///    ├─▶ declined by the callee ──────────────────────────────────────────────▲
///    └─▶ hung up by the caller while it rings ────────────────────────────────▲
/// ```
/// Confined to the phones' loop.
final class OnlineCall {
    /// What the call tells its owner.
    enum Happening {
        /// Both sides are connected: hang up when it was held long enough.
        case connected
        /// The call is over at both sides, as it was meant to be.
        case ended
        /// The call came to something else.
        case failed(reason: String)
    }

    enum Side { case caller, callee }

    let id: CallID
    let caller: Int
    let callee: Int
    private let callerPhone: Softphone
    private let calleePhone: Softphone
    private let isCalleeWoken: Bool
    private let outcome: CallOutcome
    private let due: ContinuousClock.Instant
    private let description: RawJSON?
    private let recorder: Recorder
    private let loop: EventLoop
    private let happened: (OnlineCall, Happening) -> Void

    /// How far the caller has come; states may be skipped when they come close together.
    private var state = CallState.routing
    private var answeredAt: ContinuousClock.Instant?
    private var hungUpAt: ContinuousClock.Instant?
    /// Whether the callee knows of it, to act on it.
    private var isTold = false
    private var isCallerConnected = false
    private var isCalleeConnected = false
    private var isCallerEnded = false
    private var isCalleeEnded = false
    private(set) var isOver = false

    /// - Parameters:
    ///   - caller, callee: the phones, by their index in `pool`.
    ///   - due: what the times that count from the start count from.
    convenience init(
        id: CallID, caller: Int, callee: Int, pool: PhonePool, outcome: CallOutcome, due: ContinuousClock.Instant,
        happened: @escaping (OnlineCall, Happening) -> Void
    ) {
        self.init(
            id: id, caller: (caller, pool.phones[caller]), callee: (callee, pool.phones[callee]),
            isCalleeWoken: false, outcome: outcome, due: due, environment: pool.environment, happened: happened)
    }

    /// - Parameters:
    ///   - caller, callee: the phones, with their numbers for the owner.
    ///   - due: what the times that count from the start count from.
    init(
        id: CallID, caller: (Int, Softphone), callee: (Int, Softphone), isCalleeWoken: Bool, outcome: CallOutcome,
        due: ContinuousClock.Instant, environment: WorkloadEnvironment,
        happened: @escaping (OnlineCall, Happening) -> Void
    ) {
        self.id = id
        (self.caller, callerPhone) = caller
        (self.callee, calleePhone) = callee
        self.isCalleeWoken = isCalleeWoken
        self.outcome = outcome
        self.due = due
        description = SampleDescription.of(environment.plan)
        recorder = environment.recorder
        loop = environment.loop
        self.happened = happened
    }

    func place(to callee: Handle) {
        submit(.invite(Invite(call: id, to: .user(callee), sdp: description)), by: callerPhone) { call, reply in
            if case .inviteEnded(_, let reason) = reply { return call.fail("invite: \(reason.rawValue)") }
            call.recorder.passed(.inviteResult, since: call.due)
        }
    }

    func hangUp() {
        guard !isOver else { return }
        hungUpAt = .now
        submit(.hangup(id, .hangup), by: callerPhone) { _, _ in }
    }

    // MARK: Events

    /// What one of the two phones told; of other calls, nothing is done.
    func happened(_ event: SoftphoneEvent, to phone: Int) {
        happened(event, at: phone == caller ? .caller : .callee)
    }

    func happened(_ event: SoftphoneEvent, at side: Side) {
        switch event {
        case .incoming(let call, _) where call.id == id:
            if side == .callee, !isCalleeWoken { isOffered(call) }
        case .offer(let call) where call.id == id: if side == .callee, isCalleeWoken { isOffered(call) }
        case .state(let call) where call.id == id:
            if side == .caller {
                if call.state == .answered, call.sdp != description {
                    return fail("the answer came without what it carried")
                }
                return callerReached(call.state)
            }
            // A new session tells of its calls either so or by `call.incoming`.
            if isCalleeWoken, call.state.isRingingPhase { isIncoming() }
            calleeReached(call.state)
        case .ended(let call) where call.id == id: sideEnded(side, call.reason)
        case .incoming, .state, .ended, .merged, .offer, .candidates, .update, .peer, .latePush, .connection, .draining:
            break
        }
    }

    private func isOffered(_ call: PhoneCall) {
        guard call.sdp == description else { return fail("the call came without what its invite carried") }
        isIncoming()
    }

    private func isIncoming() {
        // The callee may hear of a call that has failed; it is not to be answered any more.
        guard !isTold, !isOver else { return }
        isTold = true
        let now = ContinuousClock.now
        recorder.passed(.inviteIncoming, since: due, at: now)
        switch outcome {
        case .answered:
            answeredAt = now
            submit(.answer(id, sdp: description), by: calleePhone) { call, _ in
                call.submit(.connected(call.id), by: call.calleePhone) { _, _ in }
            }
        case .declined: submit(.decline(id, .declined), by: calleePhone) { _, _ in }
        case .cancelled: break
        }
    }

    private func callerReached(_ next: CallState) {
        let before = state
        state = next
        if before.isRingingPhase, before != .ringing, next == .ringing {
            recorder.passed(.inviteRinging, since: due)
            if outcome == .cancelled { hangUp() }
        }
        if before.isRingingPhase, !next.isRingingPhase, let answeredAt {
            recorder.passed(.answerAnswered, since: answeredAt)
            submit(.connected(id), by: callerPhone) { _, _ in }
        }
        guard next == .connected, !isCallerConnected else { return }
        isCallerConnected = true
        sideConnected()
    }

    private func calleeReached(_ next: CallState) {
        guard next == .connected, !isCalleeConnected else { return }
        isCalleeConnected = true
        sideConnected()
    }

    private func sideConnected() {
        guard isCallerConnected, isCalleeConnected, let answeredAt else { return }
        recorder.passed(.answerConnected, since: answeredAt)
        happened(self, .connected)
    }

    private func sideEnded(_ side: Side, _ reason: EndReason?) {
        guard isMeant(reason) else { return fail("ended: \(reason?.rawValue ?? "no reason")") }
        if side == .caller { isCallerEnded = true } else { isCalleeEnded = true }
        guard isCallerEnded, isCalleeEnded, !isOver else { return }
        if outcome == .answered, let hungUpAt { recorder.passed(.hangupEnded, since: hungUpAt) }
        isOver = true
        happened(self, .ended)
    }

    private func isMeant(_ reason: EndReason?) -> Bool {
        switch outcome {
        case .answered: reason == .hangup && hungUpAt != nil
        case .declined: reason == .declined
        case .cancelled: reason == .cancelled && hungUpAt != nil
        }
    }

    // MARK: Commands

    /// Gives a command; what comes of it counts as long as the call is not over.
    private func submit(
        _ command: ClientRequest, by phone: Softphone, then: @escaping @Sendable (OnlineCall, Reply) -> Void
    ) {
        let me = LoopBound(self, on: loop)
        phone.submit(command) { result in
            let call = me.value
            guard !call.isOver else { return }
            switch result {
            case .success(let reply): then(call, reply)
            case .failure(let error): call.fail("\(Self.name(of: command)): \(error)")
            }
        }
    }

    static func name(of command: ClientRequest) -> String {
        switch command {
        case .owner(.invite): "invite"
        case .call(.answer): "answer"
        case .call(.decline): "decline"
        case .call(.connected): "connected"
        case .call(.hangup): "hangup"
        case .open, .session, .call, .owner: "command"
        }
    }

    private func fail(_ reason: String) {
        guard !isOver else { return }
        isOver = true
        happened(self, .failed(reason: reason))
    }
}

@available(*, unavailable)
extension OnlineCall: Sendable {}
