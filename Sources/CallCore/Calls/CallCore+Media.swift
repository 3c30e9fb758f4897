import CallVocabulary

/// What passes between the two sides of a call unread: candidates, and updates of the media session.
extension CallCore {
    func relay(_ batch: CallCandidates, _ call: Call, _ party: PartyRole) {
        guard call.isLive else { return }
        switch (party, call.answer) {
        case (.caller, let answer?):
            if let session = answer.leg.device.session(for: call) { deliver(batch, of: call, to: session) }
        case (.caller, nil):
            // Devices still to be told get these with the offer; those told already get them now.
            counters.candidatesDropped += UInt64(call.callerCandidates.append(batch, limits: limits))
            for leg in call.legs where leg.isOpen && leg.told != nil {
                if let session = leg.device.session, leg.told?.session == session.id {
                    deliver(batch, of: call, to: session)
                }
            }
        case (.callee(let leg), let answer?):
            guard answer.leg === leg, let session = call.callerDevice.session(for: call) else { return }
            deliver(batch, of: call, to: session)
        case (.callee(let leg), nil):
            // Which device wins is not known yet, and the caller has no answer to use these with.
            if leg.isOpen { counters.candidatesDropped += UInt64(leg.candidates.append(batch, limits: limits)) }
        }
    }

    private func deliver(_ batch: CallCandidates, of call: Call, to session: Session) {
        deliver(batch.candidates[...], isFinal: batch.isFinal, of: call, to: session)
    }

    /// Sends candidates in as many events as the frame limit asks for.
    func deliver(_ candidates: ArraySlice<RawJSON>, isFinal: Bool, of call: Call, to session: Session) {
        var rest = candidates
        repeat {
            var bytes = 0
            let fitting = rest.prefix { candidate in
                bytes += candidate.bytes.count + 1
                return bytes <= limits.eventPayloadBytes
            }
            // One that does not fit by itself goes by itself: it came in a frame, so it is hardly larger than one.
            let batch = rest.prefix(max(1, fitting.count))
            rest = rest.dropFirst(batch.count)
            deliver(
                .candidates(CallCandidates(call: call.id, candidates: Array(batch), isFinal: isFinal && rest.isEmpty)),
                to: session)
        } while !rest.isEmpty
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
        if let session = other.session(for: call) { deliver(.update(update), to: session) }
        reply(connection, request, .done)
    }
}
