import CallVocabulary

/// What passes between the two sides of a call unread: candidates, and updates of the media session.
extension CallCore {
    func relay(_ batch: CallCandidates, _ call: Call, _ party: PartyRole) {
        guard call.isLive else { return }
        switch (party, call.answer) {
        case (.caller, let answer?):
            guard let session = answer.leg.device.session(for: call) else {
                _ = keep(batch, in: &call.callerCandidates)
                return
            }
            deliver(batch, to: session)
        case (.caller, nil):
            // Devices still to be told get these with the offer; those told already get them now.
            if let kept = keep(batch, in: &call.callerCandidates) { store(kept, batch.isFinal, of: call, from: nil) }
            for leg in call.legs where leg.isOpen && leg.told != nil {
                guard let session = leg.device.session, leg.told?.session == session.id else { continue }
                deliver(batch, to: session)
            }
        case (.callee(let leg), let answer?):
            guard answer.leg === leg else { return }
            guard let session = call.callerDevice.session(for: call) else {
                _ = keep(batch, in: &leg.candidates)
                return
            }
            deliver(batch, to: session)
        case (.callee(let leg), nil):
            // Which device wins is not known yet, and the caller has no answer to use these with.
            guard leg.isOpen else { return }
            if let kept = keep(batch, in: &leg.candidates) {
                store(kept, batch.isFinal, of: call, from: leg.device.key)
            }
        }
    }

    /// - Returns: those that the buffer took and did not have; nil when there is nothing new.
    func keep(_ batch: CallCandidates, in buffer: inout CandidateBuffer) -> [RawJSON]? {
        let wasFinal = buffer.isFinal
        let (kept, dropped) = buffer.append(batch, limits: limits)
        counters.candidatesDropped += UInt64(dropped)
        guard !kept.isEmpty || buffer.isFinal != wasFinal else { return nil }
        return kept
    }

    /// What the other side gets later than this process may live.
    private func store(_ candidates: [RawJSON], _ areFinal: Bool, of call: Call, from device: DeviceKey?) {
        call.hasStoredCandidates = true
        persist(
            .candidates(CandidateRecord(call: call.id, device: device, candidates: candidates, isFinal: areFinal)))
    }

    /// Nobody waits for candidates any more.
    func dropCandidates(of call: Call) {
        call.callerCandidates = CandidateBuffer()
        guard call.hasStoredCandidates else { return }
        call.hasStoredCandidates = false
        persist(.candidatesDropped(call.id))
    }

    /// The call has its winner: what the callee's other devices sent is of no use, and the winner has been told what the
    /// caller sent. What the winner sent is the caller's now.
    func handOverCandidates(of call: Call) {
        call.callerCandidates = CandidateBuffer()
        if let session = call.callerDevice.session(for: call) { deliverBuffered(of: call, to: session) }
    }

    /// A party has a session, maybe again: it gets what the other side has sent meanwhile.
    func deliverBuffered(of call: Call, to session: Session) {
        guard let winner = call.answer?.leg, call.isLive else { return }
        let isCaller = session.device === call.callerDevice
        guard isCaller || session.device === winner.device else { return }
        let buffer = isCaller ? winner.candidates : call.callerCandidates
        if isCaller { winner.candidates = CandidateBuffer() } else { call.callerCandidates = CandidateBuffer() }
        if !buffer.isEmpty {
            deliver(CallCandidates(call: call.id, candidates: buffer.candidates, isFinal: buffer.isFinal), to: session)
        }
        guard isCaller, call.hasStoredCandidates else { return }
        call.hasStoredCandidates = false
        persist(.candidatesDropped(call.id))
    }

    /// Sends candidates in as many events as the frame limit asks for.
    private func deliver(_ batch: CallCandidates, to session: Session) {
        batch.forEachFrame { deliver(.candidates($0), to: session) }
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
        guard let session = other.session(for: call) else {
            return refuse(
                connection, request, .overloaded(retryAfter: .seconds(1)),
                "The other side is not back yet; send this again shortly.")
        }
        deliver(.update(update), to: session)
        reply(connection, request, .done)
    }
}
