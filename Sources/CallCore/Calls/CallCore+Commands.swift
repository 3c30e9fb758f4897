import CallVocabulary
import Determinism

/// Requests of a session. Only parties act on a call, and only in their role. Any other request is `forbidden`, with
/// the same error as for a call that does not exist.
extension CallCore {
    func perform(_ command: ClientRequest, on connection: ConnectionID, _ request: RequestID) {
        guard let session = directory.session(on: connection) else {
            return refuse(connection, request, .unauthenticated, "Open a session first: session.open.")
        }
        noteLife(of: session.device, by: command)
        switch command {
        case .open:
            refuse(connection, request, .badState(nil), "This connection has a session already.")
        case .session(.state(let state)):
            changeAppState(session, to: state)
            reply(connection, request, .done)
        case .session(.close):
            closeSession(session, connection, request)
        case .call(let command):
            perform(command, session, connection, request)
        case .owner(let command):
            perform(command, session, connection, request)
        }
    }

    /// Performs a request about one call, which may first be looked up in the store.
    private func perform(
        _ command: CallRequest, _ session: Session, _ connection: ConnectionID, _ request: RequestID
    ) {
        let id = command.call
        guard session.mayAct(on: id) else { return refuseStranger(connection, request) }
        session.inheritedCalls.removeAll { $0.id == id }
        guard let call = calls[id] else {
            if waitsForAnswer(command, session.device, connection, request) { return }
            if !mayBeStored(id) { return refuseStranger(connection, request) }
            _ = isAtHand(
                Wanted(call: id), for: .client(.requested(connection, request, .call(command))), in: .call(id))
            return
        }
        if let leg = call.leg(of: session.device) { noteAct(on: leg, by: command, in: session) }
        if case .get = command { return show(call, to: session.device, connection, request) }
        guard let party = role(of: session.device, in: call) else { return refuseStranger(connection, request) }
        perform(command, call, party, connection, request)
    }

    /// Performs a request of a party.
    func perform(
        _ command: CallRequest, _ call: Call, _ party: PartyRole, _ connection: ConnectionID, _ request: RequestID
    ) {
        switch command {
        case .get: show(call, to: party.device(in: call), connection, request)
        case .report(let report): takeReport(report, call, party, connection, request)
        case .ringing: ring(call, party, connection, request)
        case .answer(_, let sdp): answer(call, party, sdp, connection, request)
        case .decline(_, let reason): decline(call, party, reason, connection, request)
        case .connected: mediaConnected(call, party, connection, request)
        case .hangup(_, let reason): hangUp(call, party, reason, connection, request)
        case .update(let update): relay(update, call, party, connection, request)
        }
    }

    /// Every device of a party may see the call; only devices with a part in it may act.
    private func show(_ call: Call, to device: Device, _ connection: ConnectionID, _ request: RequestID) {
        guard let view = view(of: call, for: device.key.user, device: device) else {
            return refuseStranger(connection, request)
        }
        reply(connection, request, .call(view))
    }

    private func perform(
        _ command: OwnerRequest, _ session: Session, _ connection: ConnectionID, _ request: RequestID
    ) {
        guard session.scope == .full else {
            return refuse(
                connection, request, .forbidden, "A wake token acts on its own call only. Open with a user token.")
        }
        switch command {
        case .logout:
            logOut(session, connection, request)
        case .updateDevice(let tokens):
            let user = session.device.user
            guard mayUpdateDevice(user, tokens, connection, request) else { return }
            let wanted = Wanted(tokens: wantedHolders(of: tokens, on: session.device))
            guard
                isAtHand(
                    wanted, for: .client(.requested(connection, request, .owner(command))), in: .tokens(connection))
            else { return }
            user.deviceUpdateBound.spend(at: now, limits.deviceUpdatesPerUser, in: Self.minute)
            spendStorage(storedBytes(ofDeviceWith: tokens), of: user)
            let isChanged = setTokens(tokens, of: session.device)
            persist(session.device)
            if isChanged { record(.registered, of: session.device) }
            reply(connection, request, .done)
        case .invite(let invite):
            self.invite(invite, session, connection, request)
        case .list(let cursor, let limit):
            readHistory(HistoryQuery(party: session.device.party, after: cursor, limit: limit), connection, request)
        case .clearMissed(let upTo):
            let user = session.device.user
            if user.missed.contains(where: { $0.at <= upTo }) {
                if let refusal = storageRefusal(of: user, StoredBytes.call) {
                    return refuse(connection, request, refusal)
                }
                spendStorage(StoredBytes.call, of: user)
                user.missed.removeAll { $0.at <= upTo }
                persist(.missedCleared(user: user.handle, upTo: upTo), about: user)
            }
            withdrawNotices(to: user, upTo: upTo)
            reply(connection, request, .done)
        }
    }

    /// Sets the app's state. An app in the background may be suspended at any moment, so offers without a sign of life
    /// are also pushed.
    private func changeAppState(_ session: Session, to state: AppState) {
        session.appState = state
        if state == .background { fallBackToPush(session.device) }
    }

    func take(_ notification: ClientNotification, on connection: ConnectionID, _ request: RequestID?) {
        guard let session = directory.session(on: connection) else {
            guard let request else { return }
            return refuse(connection, request, .unauthenticated, "Open a session first: session.open.")
        }
        noteLife(of: session.device)
        switch notification {
        case .ack(let seq): acknowledge(session, seq)
        case .candidates(let batch):
            if holdsCandidates(batch, session.device, connection, request) { return }
            if let refusal = take(batch, from: session) { return refuse(connection, request, refusal) }
        }
        if let request { reply(connection, request, .done) }
    }

    /// Takes candidates; drops those without use, such as candidates for a call that has ended.
    /// - Returns: why the client must send them again; nil when they are taken.
    private func take(_ batch: CallCandidates, from session: Session) -> SignalError? {
        guard session.mayAct(on: batch.call), let call = calls[batch.call],
            let party = role(of: session.device, in: call)
        else { return nil }
        session.inheritedCalls.removeAll { $0.id == call.id }
        if case .callee(let leg) = party { noteAct(on: leg, byWakeToken: session.scope != .full) }
        return relay(batch, call, party)
    }

    /// The part of a device in a call.
    enum PartyRole {
        case caller
        case callee(Leg)

        /// nil for a device that has not answered.
        var role: CallRole? {
            switch self {
            case .caller: .caller
            case .callee(let leg): leg.call.answer?.leg === leg ? .callee : nil
            }
        }

        func device(in call: Call) -> Device {
            switch self {
            case .caller: call.callerDevice
            case .callee(let leg): leg.device
            }
        }
    }

    func role(of device: Device, in call: Call) -> PartyRole? {
        if call.callerDevice === device { return .caller }
        return call.leg(of: device).map { .callee($0) }
    }

    private func replyState(_ call: Call, _ party: PartyRole, _ connection: ConnectionID, _ request: RequestID) {
        let (state, reason) = standing(of: call, for: party)
        reply(connection, request, .callState(state, reason))
    }

    /// The one error for a call that does not exist, for another user's call, and for an act of the other side: it
    /// reveals nothing.
    func refuseStranger(_ connection: ConnectionID, _ request: RequestID) {
        refuse(connection, request, .forbidden, Self.strangersRefusal)
    }

    static let strangersRefusal = "You have no such part in this call."

    private func ring(_ call: Call, _ party: PartyRole, _ connection: ConnectionID, _ request: RequestID) {
        guard case .callee(let leg) = party else { return refuseStranger(connection, request) }
        if call.isUnanswered, leg.isOpen { startRinging(leg) }
        replyState(call, party, connection, request)
    }

    /// The leg rings: its push, if not yet sent, is withdrawn.
    func startRinging(_ leg: Leg) {
        guard leg.state != .ringing else { return }
        endDelivery(of: leg)
        leg.ring(at: now)
        persist(leg)
        withdrawPush(leg, reason: "the device rings")
        guard leg.call.state != .ringing else { return }
        leg.call.ring(at: now)
        persist(leg.call, .ringing)
        tellCaller(of: leg.call, by: leg.device.party)
    }

    private func answer(
        _ call: Call, _ party: PartyRole, _ sdp: RawJSON?, _ connection: ConnectionID, _ request: RequestID
    ) {
        guard case .callee(let leg) = party else { return refuseStranger(connection, request) }
        if let ending = call.ending {
            let reason = leg.record.endReason ?? ending.reason
            return refuse(connection, request, .callEnded(reason), "The call is over: \(reason.rawValue).")
        }
        if let winner = call.answer?.leg {
            // A repeated answer has still won: its result was lost, or it brings the SDP that the first one lacked.
            if winner === leg {
                if let sdp, let refusal = complete(call, sdp) { return refuse(connection, request, refusal) }
                return reply(connection, request, .won)
            }
            return refuse(
                connection, request, .alreadyAnswered(by: winner.device.party), "Another device answered this call.")
        }
        guard leg.isOpen else {
            let reason = leg.record.endReason ?? .declined
            return refuse(connection, request, .callEnded(reason), "This device has left the call: \(reason.rawValue).")
        }
        if let sdp, let refusal = storageRefusal(of: leg.device.user, sdp.bytes.count) {
            return refuse(connection, request, refusal)
        }
        win(call, leg, sdp)
        reply(connection, request, .won)
    }

    private func win(_ call: Call, _ leg: Leg, _ sdp: RawJSON?) {
        cancel(call.deadline)
        call.deadline = nil
        cancel(call.huntDeadline)
        call.huntDeadline = nil
        endDelivery(of: leg)
        call.answer(by: leg, at: now, connectsUntil: now + timers.connect)
        leg.answer(at: now)
        persist(leg)
        withdrawPush(leg, reason: "the device answered")
        schedule(.connect(call), at: now + timers.connect, in: &call.deadline)
        counters.callsAnswered += 1
        persist(call, .answered)
        if let sdp { describe(call, sdp) }
        for other in call.legs where other !== leg && other.isOpen {
            closeLeg(other, .answeredElsewhere, by: leg.device.party, isOwnAct: false)
        }
        tellCaller(of: call, by: leg.device.party, sdp: sdp)
        handOverCandidates(of: call)
        tellOfAbsentCaller(call)
    }

    /// Stores the winner's SDP, because either side may have to be told again, even after a restart.
    private func describe(_ call: Call, _ sdp: RawJSON) {
        call.descriptions.answer = sdp
        if let winner = call.answer?.leg { spendStorage(sdp.bytes.count, of: winner.device.user) }
        countMemory(of: call)
        noteFollowed(call)
        persist(.descriptions(call.descriptions))
    }

    /// Takes the SDP of a call that was answered without one, and passes it to the caller.
    /// - Returns: why the client must send it again; nil when it is taken, or of no use.
    private func complete(_ call: Call, _ sdp: RawJSON) -> SignalError? {
        guard call.state == .answered, let winner = call.answer?.leg.device, call.descriptions.answer == nil else {
            return nil
        }
        if let refusal = storageRefusal(of: winner.user, sdp.bytes.count) { return refusal }
        describe(call, sdp)
        tellCaller(of: call, by: winner.party, sdp: sdp)
        return nil
    }

    private func decline(
        _ call: Call, _ party: PartyRole, _ reason: DeclineReason, _ connection: ConnectionID, _ request: RequestID
    ) {
        guard case .callee(let leg) = party else { return refuseStranger(connection, request) }
        if call.isLive, call.answer?.leg === leg {
            return refuse(connection, request, .badState(call.state), "The call is answered; hang up instead.")
        }
        if call.isUnanswered, leg.isOpen { decline(leg, reason.endReason) }
        replyState(call, party, connection, request)
    }

    /// Declines the call. A user's decline ends the call on all devices of the user, unless the user's policy says
    /// otherwise; `busy` ends it for the one device.
    private func decline(_ leg: Leg, _ reason: EndReason) {
        let call = leg.call
        let party = leg.device.party
        closeLeg(leg, reason, by: party, isOwnAct: true)
        let speaksForAll = leg.device.user.policy.decline == .all && reason != .busy
        for other in call.legs where speaksForAll && other.isOpen && other.device.user === leg.device.user {
            closeLeg(other, .declinedElsewhere, by: party, isOwnAct: false)
        }
        goOnWithoutLeg(call, reason, by: party)
    }

    private func mediaConnected(_ call: Call, _ party: PartyRole, _ connection: ConnectionID, _ request: RequestID) {
        let role: CallRole
        switch party {
        case .caller: role = .caller
        case .callee(let leg):
            // A device that lost the call gets its state. A device that may still answer has no media to report, so it
            // is refused.
            guard leg.isOpen || call.answer?.leg === leg else { return replyState(call, party, connection, request) }
            role = .callee
        }
        switch call.phase {
        case .routing, .waking, .ringing:
            return refuse(connection, request, .badState(call.state), "Nobody has answered this call yet.")
        case .connected, .ended: break
        case .answered(let answer):
            // A side that repeats itself changes nothing.
            guard (role == .caller ? answer.callerConnectedAt : answer.calleeConnectedAt) == nil else { break }
            let isComplete = call.mediaConnected(role, at: now)
            if isComplete {
                cancel(call.deadline)
                call.deadline = nil
                limitDuration(of: call, connectedAt: now)
                dropSDP(of: call)
                dropCandidates(of: call)
                counters.callsConnected += 1
                persist(call, .connected)
                tellCaller(of: call, by: nil)
                tellWinner(of: call)
            } else {
                persist(call)
            }
        }
        replyState(call, party, connection, request)
    }

    func limitDuration(of call: Call, connectedAt: Instant) {
        guard var longest = timers.longestCall ?? call.maxDuration else { return }
        if let asked = call.maxDuration, asked < longest { longest = asked }
        schedule(.duration(call), at: connectedAt + longest, in: &call.deadline)
    }

    private func hangUp(
        _ call: Call, _ party: PartyRole, _ reason: HangupReason, _ connection: ConnectionID, _ request: RequestID
    ) {
        switch party {
        case .caller:
            if call.isLive {
                endCall(call, call.isUnanswered && reason == .hangup ? .cancelled : reason.endReason, by: call.caller)
            }
        case .callee(let leg):
            if call.isUnanswered, leg.isOpen {
                decline(leg, .declined)
            } else if call.isLive, call.answer?.leg === leg {
                endCall(call, reason.endReason, by: leg.device.party)
            }
        }
        replyState(call, party, connection, request)
    }
}
