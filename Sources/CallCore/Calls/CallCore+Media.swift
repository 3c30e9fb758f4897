import CallVocabulary
import Determinism

/// Relays candidates and updates of the media session between the two sides of a call, unread.
///
/// An accepted message reaches the next session of the other side that may act on the call. A refused one must be sent
/// again by its client.
extension CallCore {
    /// - Returns: why nothing of the batch is relayed; nil when it is, or is of no use.
    func relay(_ batch: CallCandidates, _ call: Call, _ party: PartyRole) -> SignalError? {
        guard call.isLive else { return nil }
        switch (party, call.answer) {
        case (.caller, let answer?):
            return pass(batch, to: answer.leg.device, of: call, from: nil, call.callerDevice.user)
        case (.caller, nil): return passToRinging(batch, of: call)
        case (.callee(let leg), let answer?):
            guard answer.leg === leg else { return nil }
            return pass(batch, to: call.callerDevice, of: call, from: leg.device.key, leg.device.user)
        case (.callee(let leg), nil):
            // The winner is not known yet, and the caller cannot use candidates before the answer.
            guard leg.isOpen else { return nil }
            do throws(SignalError) {
                _ = try keep(batch, in: &leg.candidates, of: call, from: leg.device.key, leg.device.user)
                return nil
            } catch {
                return error
            }
        }
    }

    /// Keeps the caller's candidates until the answer. A device told later gets them with the offer; a device told already
    /// gets those that are new, as a caller may repeat its candidates at any rate.
    private func passToRinging(_ batch: CallCandidates, of call: Call) -> SignalError? {
        do throws(SignalError) {
            let isNew = try keep(batch, in: &call.callerCandidates, of: call, from: nil, call.callerDevice.user)
            guard isNew else { return nil }
        } catch {
            return error
        }
        countMemory(of: call)
        passOnCandidates(of: call)
        return nil
    }

    private static let candidateWindow = Duration.seconds(1)

    /// Sends the devices that ring those of the caller's candidates that they were not sent yet: at once, or together as
    /// soon as the caller's share has room for an event to each. One small message causes as many events as devices ring.
    func passOnCandidates(of call: Call) {
        guard call.isUnanswered, call.candidatesDeadline == nil else { return }
        let (buffer, caller, most) = (call.callerCandidates, call.callerDevice.user, limits.candidateEventsPerCaller)
        let end = buffer.end
        let legs = call.legs.filter { leg in
            guard leg.isOpen, leg.toldCandidates != end, let told = leg.told else { return false }
            return leg.device.session?.id == told.session
        }
        guard !legs.isEmpty else { return }
        let count = min(legs.count, most)
        if let next = caller.candidateBound.nextAllowed(count, at: now, most, in: Self.candidateWindow) {
            schedule(.candidates(call), at: next, in: &call.candidatesDeadline)
            return
        }
        caller.candidateBound.spend(count, at: now, most, in: Self.candidateWindow)
        // Most legs were told as much before.
        var (start, batch) = (legs[0].toldCandidates, buffer.batch(of: call.id, after: legs[0].toldCandidates))
        for leg in legs {
            guard let session = leg.device.session else { continue }
            if leg.toldCandidates != start {
                start = leg.toldCandidates
                batch = buffer.batch(of: call.id, after: start)
            }
            leg.toldCandidates = end
            deliver(batch, to: session)
            session.note(
                Session.Offer(
                    seq: session.lastSeq, call: call.id, from: call.caller.user, bytes: end.bytes - start.bytes,
                    at: now),
                within: timers.pushWindow)
        }
    }

    /// Keeps candidates until the answer.
    /// - Returns: whether something of the batch is new.
    /// - Throws: the refusal of the batch.
    private func keep(
        _ batch: CallCandidates, in buffer: inout CandidateBuffer, of call: Call, from device: DeviceKey?, _ user: User
    ) throws(SignalError) -> Bool {
        if let refusal = storageRefusal(of: user, StoredBytes.of(batch)) { throw refuse(batch, refusal) }
        let wasFinal = buffer.isFinal
        guard let new = buffer.append(batch, limits: limits) else { throw refuse(batch) }
        guard !new.isEmpty || buffer.isFinal != wasFinal else { return false }
        store(new, batch.isFinal, of: call, from: device, user)
        return true
    }

    /// Relays candidates to the other side of an answered call.
    private func pass(
        _ batch: CallCandidates, to device: Device, of call: Call, from sender: DeviceKey?, _ user: User
    ) -> SignalError? {
        let session = device.session(for: call)
        let isAway = session?.connection == nil
        if isAway, isStoredForReturn(batch, of: call),
            let refusal = storageRefusal(of: user, StoredBytes.of(batch))
        {
            return refuse(batch, refusal)
        }
        if let session {
            // The limit for a device that is away is the same with a session as without one.
            guard hasRoom(for: .candidates(batch), in: session),
                !isAway
                    || CandidateBuffer.new(in: batch, behind: session.unacknowledgedMedia, limits: limits) != nil
            else { return refuse(batch) }
            deliver(batch, to: session)
            // A session without a socket keeps them for the resume; the store keeps them in case of a restart.
            if isAway { storeForReturn(batch, of: call, from: sender, user) }
            return nil
        }
        guard device.hold(batch, limits) else { return refuse(batch) }
        noteFollowed(call)
        storeForReturn(batch, of: call, from: sender, user)
        return nil
    }

    /// - Parameter error: nil when there is no room for the batch.
    private func refuse(_ batch: CallCandidates, _ error: SignalError? = nil) -> SignalError {
        counters.candidatesRefused += UInt64(batch.candidates.count)
        var error =
            error
            ?? SignalError(
                .overloaded(retryAfter: .seconds(1)),
                "call.candidates: more are waiting for the other side than there is room for; send these again.")
        error.call = batch.call
        return error
    }

    private func storeForReturn(_ batch: CallCandidates, of call: Call, from sender: DeviceKey?, _ user: User) {
        guard isStoredForReturn(batch, of: call) else { return }
        store(Array(batch.candidates), batch.isFinal, of: call, from: sender, user)
    }

    private func isStoredForReturn(_ batch: CallCandidates, of call: Call) -> Bool {
        // Once media flows, a client that returns negotiates anew. A restart drops a batch that is larger than a buffer.
        call.state == .answered && !batch.candidates.hasMore(than: limits.bufferedCandidates)
    }

    /// Stores candidates that the other side may get only after a restart.
    private func store(
        _ candidates: [RawJSON], _ areFinal: Bool, of call: Call, from device: DeviceKey?, _ user: User
    ) {
        call.hasStoredCandidates = true
        spendStorage(StoredBytes.of(candidates), of: user)
        persist(
            .candidates(CandidateRecord(call: call.id, device: device, candidates: candidates, isFinal: areFinal)))
    }

    /// Drops all candidates sent so far: media flows, or the call has ended.
    func dropCandidates(of call: Call) {
        call.callerCandidates = CandidateBuffer()
        guard call.hasStoredCandidates else { return }
        call.hasStoredCandidates = false
        persist(.candidatesDropped(call.id))
    }

    /// Hands candidates over once the call is answered: the caller's to a winner whose session was not told of them, the
    /// winner's to the caller. Candidates of the callee's other devices are dropped.
    func handOverCandidates(of call: Call) {
        guard let winner = call.answer?.leg else { return }
        cancel(call.candidatesDeadline)
        call.candidatesDeadline = nil
        let (buffer, told) = (call.callerCandidates, winner.toldCandidates)
        if let session = winner.device.session(for: call), winner.told?.session == session.id {
            // An overflow has dropped those of a call that rang: others decide how much rings at a user.
            if session.hasOverflowed {
                buffer.batch(of: call.id, upTo: told).forEachFrame { session.keepToldCandidates($0) }
            }
            if buffer.end != told { deliver(buffer.batch(of: call.id, after: told), to: session) }
        } else {
            // All follow, also those that an earlier session was told of and did not acknowledge.
            winner.device.heldMedia.removeAll { $0.relayedCall == call.id }
            handOver(buffer, of: call, to: winner.device)
        }
        handOver(winner.candidates, of: call, to: call.callerDevice)
        call.callerCandidates = CandidateBuffer()
        winner.candidates = CandidateBuffer()
    }

    func handOver(_ buffer: CandidateBuffer, of call: Call, to device: Device) {
        guard !buffer.isEmpty else { return }
        let batch = buffer.batch(of: call.id)
        if let session = device.session(for: call) {
            deliver(batch, to: session)
        } else {
            // At most one buffer, and held before anything else for the device in this call: there is room.
            _ = device.hold(batch, limits)
        }
    }

    /// Delivers to a new session the held candidates and updates of its answered calls, and those its last session did
    /// not acknowledge.
    func deliverHeldMedia(to session: Session) {
        let device = session.device
        guard !device.heldMedia.isEmpty else { return }
        let held = device.heldMedia
        device.heldMedia = []
        for event in held {
            guard let id = event.relayedCall, let call = calls[id], call.isLive else { continue }
            if !session.mayAct(on: id) {
                device.heldMedia.append(event)
            } else if call.answer != nil, call.isParty(device) {
                deliver(event, to: session)
            }
            // An unanswered call's candidates are part of `call.incoming`.
        }
    }

    /// Sends candidates in as many events as the frame limit requires.
    private func deliver(_ batch: CallCandidates, to session: Session) {
        batch.forEachFrame { deliver(.candidates($0), to: session) }
    }

    private func hasRoom(for event: ServerEvent, in session: Session) -> Bool {
        session.hasRoom(for: event, limits) { isParty(session.device, ofAnswered: $0) }
    }

    func relay(_ update: CallUpdate, _ call: Call, _ party: PartyRole, _ connection: ConnectionID, _ request: RequestID)
    {
        guard call.isLive, let winner = call.answer?.leg else {
            return refuse(connection, request, .badState(call.state), "Only an answered call can be updated.")
        }
        let other: Device
        switch party {
        case .caller: other = winner.device
        case .callee(let leg):
            guard leg === winner else { return refuseStranger(connection, request) }
            other = call.callerDevice
        }
        guard !other.isBackend else {
            return refuse(
                connection, request, .badState(call.state),
                "The caller of this call is a backend, which takes no updates.")
        }
        guard let session = other.session(for: call), hasRoom(for: .update(update), in: session) else {
            return refuse(
                connection, request, .overloaded(retryAfter: .seconds(1)),
                "The other side has not taken what it was sent before; send this again shortly.")
        }
        deliver(.update(update), to: session)
        reply(connection, request, .done)
    }
}

extension ServerEvent {
    /// The event, if the other side of a call sent it: no snapshot contains it.
    var relayed: ServerEvent? {
        switch self {
        case .candidates, .update: self
        case .incoming(let offer):
            offer.candidates.isEmpty
                ? nil : .candidates(CallCandidates(call: offer.call, candidates: offer.candidates))
        case .state, .ended, .peer, .draining: nil
        }
    }

    /// The call of an event that the other side sent.
    var relayedCall: CallID? {
        switch self {
        case .candidates(let batch): batch.call
        case .update(let update): update.call
        case .incoming, .state, .ended, .peer, .draining: nil
        }
    }
}
