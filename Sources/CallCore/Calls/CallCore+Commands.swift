import CallVocabulary
import Determinism

/// What a session may ask for. Only parties act on a call, and only in their role; anything else is `forbidden`, the same
/// for a call that does not exist.
extension CallCore {
    func perform(_ command: ClientRequest, on connection: ConnectionID, _ request: RequestID) {
        guard let session = directory.session(on: connection) else {
            return refuse(connection, request, .unauthenticated, "Open a session first: session.open.")
        }
        switch command {
        case .open:
            refuse(connection, request, .badState(nil), "This connection has a session already.")
        case .state(let state):
            session.appState = state
            reply(connection, request, .done)
        case .close:
            closeSession(session, connection, request)
        case .report(let report):
            takeReport(report, session, connection, request)
        case .ringing(let id):
            withParty(of: id, session, connection, request) { ring($0, $1, connection, request) }
        case .answer(let id, let sdp):
            withParty(of: id, session, connection, request) { answer($0, $1, sdp, connection, request) }
        case .decline(let id, let reason):
            withParty(of: id, session, connection, request) { decline($0, $1, reason, connection, request) }
        case .connected(let id):
            withParty(of: id, session, connection, request) { mediaConnected($0, $1, connection, request) }
        case .hangup(let id, let reason):
            withParty(of: id, session, connection, request) { hangUp($0, $1, reason, connection, request) }
        case .update(let update):
            withParty(of: update.call, session, connection, request) { relay(update, $0, $1, connection, request) }
        case .get(let id):
            withParty(of: id, session, connection, request) { call, party in
                reply(connection, request, .call(snapshot(of: call, for: party)))
            }
        case .logout, .updateDevice, .invite, .list, .clearMissed:
            performAsOwner(command, session, connection, request)
        }
    }

    /// What needs a full session, not just a wake token.
    private func performAsOwner(
        _ command: ClientRequest, _ session: Session, _ connection: ConnectionID, _ request: RequestID
    ) {
        guard session.scope == .full else {
            return refuse(
                connection, request, .forbidden, "A wake token acts on its own call only. Open with a user token.")
        }
        switch command {
        case .logout:
            logOut(session, connection, request)
        case .updateDevice(let tokens):
            setTokens(tokens, of: session.device)
            persist(.device(session.device.record))
            reply(connection, request, .done)
        case .invite(let invite):
            self.invite(invite, session, connection, request)
        case .list(_, let limit):
            let live = session.device.user.liveCalls.reversed().prefix(max(0, limit ?? 50))
            let views = live.compactMap { call in role(of: session.device, in: call).map { snapshot(of: call, for: $0) }
            }
            reply(connection, request, .calls(views, next: nil))
        case .clearMissed(let upTo):
            session.device.user.missed.removeAll { $0.at <= upTo }
            persist(.missedCleared(user: session.device.key.user, upTo: upTo))
            reply(connection, request, .done)
        case .open, .state, .close, .report, .ringing, .answer, .decline, .connected, .hangup, .update, .get:
            preconditionFailure("handled where wake tokens are allowed")
        }
    }

    func take(_ notification: ClientNotification, from connection: ConnectionID) {
        guard let session = directory.session(on: connection) else { return }
        switch notification {
        case .ack(let seq): acknowledge(session, seq)
        case .candidates(let batch):
            guard let call = calls[batch.call], session.mayAct(on: call.id),
                let party = role(of: session.device, in: call)
            else { return }
            relay(batch, call, party)
        }
    }

    /// In what part a device takes part in a call.
    enum PartyRole {
        case caller
        case callee(Leg)
    }

    func role(of device: Device, in call: Call) -> PartyRole? {
        if call.callerDevice === device { return .caller }
        return device.leg(of: call).map { .callee($0) }
    }

    private func withParty(
        of id: CallID, _ session: Session, _ connection: ConnectionID, _ request: RequestID,
        _ body: (Call, PartyRole) -> Void
    ) {
        guard session.mayAct(on: id), let call = calls[id], let party = role(of: session.device, in: call) else {
            return refuseStranger(connection, request)
        }
        body(call, party)
    }

    private func replyState(_ call: Call, _ party: PartyRole, _ connection: ConnectionID, _ request: RequestID) {
        let (state, reason) = standing(of: call, for: party)
        reply(connection, request, .callState(state, reason))
    }

    /// One answer for a call that does not exist, for somebody else's, and for an act that belongs to the other side, so
    /// that nothing can be learned from it.
    func refuseStranger(_ connection: ConnectionID, _ request: RequestID) {
        refuse(connection, request, .forbidden, "You have no such part in this call.")
    }

    private func ring(_ call: Call, _ party: PartyRole, _ connection: ConnectionID, _ request: RequestID) {
        guard case .callee(let leg) = party else { return refuseStranger(connection, request) }
        if call.isUnanswered, leg.isOpen { startRinging(leg) }
        replyState(call, party, connection, request)
    }

    /// The leg rings: its push, if it is still to be sent, is not needed any more.
    func startRinging(_ leg: Leg) {
        guard leg.state != .ringing else { return }
        cancel(&leg.deliveryDeadline)
        leg.ring(at: now)
        persist(.leg(leg.record))
        withdrawPush(leg, reason: "the device rings")
        guard leg.call.state != .ringing else { return }
        leg.call.ring(at: now)
        persist(.call(leg.call.record))
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
            // The same answer again, its result lost on the way: it has won, still.
            if winner === leg { return reply(connection, request, .won) }
            return refuse(
                connection, request, .alreadyAnswered(by: winner.device.party), "Another device answered this call.")
        }
        guard leg.isOpen else {
            let reason = leg.record.endReason ?? .declined
            return refuse(connection, request, .callEnded(reason), "This device has left the call: \(reason.rawValue).")
        }
        win(call, leg, sdp)
        reply(connection, request, .won)
    }

    private func win(_ call: Call, _ leg: Leg, _ sdp: RawJSON?) {
        cancel(&call.deadline)
        cancel(&leg.deliveryDeadline)
        call.answer(by: leg, at: now, connectsUntil: now + timers.connect, sdp: sdp)
        leg.answer(at: now)
        persist(.leg(leg.record))
        withdrawPush(leg, reason: "the device answered")
        call.deadline = deadlines.add(.connect(call), at: now + timers.connect)
        counters.callsAnswered += 1
        persist(.call(call.record))
        // In the offer's place stands the answer, for a caller that has not heard of it when the server stops.
        call.offer = OfferRecord(call: call.id, sdp: sdp, custom: nil)
        persist(sdp == nil ? .offerDropped(call.id) : .offer(call.offer))
        for other in call.legs where other !== leg && other.isOpen {
            closeLeg(other, .answeredElsewhere, by: leg.device.party, isOwnAct: false)
        }
        tellCaller(of: call, by: leg.device.party, sdp: sdp)
        if !leg.candidates.isEmpty, let session = call.callerDevice.session(for: call) {
            deliver(leg.candidates.candidates[...], isFinal: leg.candidates.isFinal, of: call, to: session)
            leg.candidates = CandidateBuffer()
        }
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

    /// One device's decline ends the call on all devices of its user.
    private func decline(_ leg: Leg, _ reason: EndReason) {
        let call = leg.call
        let party = leg.device.party
        closeLeg(leg, reason, by: party, isOwnAct: true)
        for other in call.legs where other.isOpen && other.device.user === leg.device.user {
            closeLeg(other, .declinedElsewhere, by: party, isOwnAct: false)
        }
        endIfNobodyIsLeft(call, reason, by: party)
    }

    private func mediaConnected(_ call: Call, _ party: PartyRole, _ connection: ConnectionID, _ request: RequestID) {
        let role: CallRole
        switch party {
        case .caller: role = .caller
        case .callee(let leg):
            guard call.answer?.leg === leg else { return replyState(call, party, connection, request) }
            role = .callee
        }
        switch call.phase {
        case .routing, .waking, .ringing:
            return refuse(connection, request, .badState(call.state), "Nobody has answered this call yet.")
        case .connected, .ended: break
        case .answered:
            let isComplete = call.mediaConnected(role, at: now)
            if isComplete {
                cancel(&call.deadline)
                dropOffer(of: call)
                counters.callsConnected += 1
            }
            persist(.call(call.record))
            if isComplete {
                tellCaller(of: call, by: nil)
                tellWinner(of: call)
            }
        }
        replyState(call, party, connection, request)
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
