import CallVocabulary
import Determinism

/// Taking up what the last process left: no call ends because the server stopped.
extension CallCore {
    /// Rebuilds everything that was not over. Call it once, before any input; then let timeouts fall due: a deadline that
    /// passed while the server was down fires with its own reason.
    public func recover(_ state: RecoveredState, now: Instant, effects: inout EffectBuffer) {
        precondition(calls.isEmpty && directory.sessionCount == 0, "recovery comes before everything else")
        self.now = now
        swap(&self.effects, &effects)
        defer { swap(&self.effects, &effects) }
        for record in state.devices { restore(record) }
        for missed in state.missed { directory.addUser(missed.user).missed.append(missed.call) }
        var offers: [CallID: OfferRecord] = [:]
        for offer in state.offers { offers[offer.call] = offer }
        for record in state.calls {
            calls[record.id] = Call(record, callerDevice: device(record.caller), offer: offers[record.id])
        }
        for record in state.legs {
            guard let call = calls[record.call] else { continue }
            let device = device(Party(user: record.device.user, device: record.device.device))
            let leg = Leg(record, call: call, device: device)
            call.legs.append(leg)
            device.legs.append(leg)
        }
        for record in state.calls {
            if let call = calls[record.id] { restore(call, record) }
        }
        for record in state.pushes {
            guard let call = calls[record.call], let leg = call.legs.first(where: { $0.record.push == record.id })
            else {
                continue
            }
            let push = Push(record, leg: leg)
            leg.push = push
            restore(push)
        }
        for record in state.calls {
            if let call = calls[record.id], call.isUnanswered, now < call.ringsUntil { wakeAgain(call) }
        }
    }

    /// Devices that were told over a socket lost it with the process, and may not have heard.
    private func wakeAgain(_ call: Call) {
        for leg in call.legs where leg.isOpen {
            if !leg.isAwake, leg.push == nil, leg.device.voipToken != nil { pushOrGiveUp(leg) }
            awaitReturn(of: leg.device)
        }
    }

    private func restore(_ record: DeviceRecord) {
        let user = directory.addUser(record.key.user)
        let device = Device(record, user: user)
        user.devices.append(device)
        _ = directory.setTokens(record.tokens.map(\.token), of: device, now: now)
        device.tokens = record.tokens
    }

    /// The device of a party; one that the store has lost is made anew, so that its call is not lost with it.
    private func device(_ party: Party) -> Device {
        let user = directory.addUser(party.user)
        let id = party.device ?? DeviceID(high: 0, low: 0)
        if let device = user.device(id) { return device }
        let device = Device(key: DeviceKey(user: party.user, device: id), user: user, platform: .cli, seenAt: now)
        user.devices.append(device)
        return device
    }

    private func restore(_ call: Call, _ record: CallRecord) {
        call.restorePhase(from: record)
        switch call.phase {
        case .routing, .waking, .ringing: call.deadline = deadlines.add(.ring(call), at: call.ringsUntil)
        case .answered(let answer): call.deadline = deadlines.add(.connect(call), at: answer.connectsUntil)
        case .connected: break
        case .ended:
            call.deadline = deadlines.add(.forget(call), at: now + timers.tombstone)
            return
        }
        liveCallCount += 1
        call.callerDevice.user.liveCalls.append(call)
        for user in callees(of: call) where user !== call.callerDevice.user { user.liveCalls.append(call) }
        // Nobody has a session yet: the parties have the resume window to come back.
        awaitReturn(of: call.callerDevice)
        if let winner = call.answer?.leg.device { awaitReturn(of: winner) }
    }
}
