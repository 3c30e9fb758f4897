import CallVocabulary
import Determinism

/// Who is rung when, and how each device is told.
extension CallCore {
    /// What became of ringing one member.
    private enum Turn {
        case rings([Leg])
        case busy
        case doNotDisturb
        case unreachable
    }

    /// Rings everybody, or the first of a hunt; a call that nobody can be rung for is over.
    func ringFirst(_ call: Call) {
        var legs: [Leg] = []
        var isBusy = false
        var hasDoNotDisturb = false
        func note(_ turn: Turn) {
            switch turn {
            case .rings(let new): legs += new
            case .busy: isBusy = true
            case .doNotDisturb: hasDoNotDisturb = true
            case .unreachable: break
            }
        }
        if call.hunt != nil {
            while legs.isEmpty, let turn = takeTurn(call) { note(turn) }
        } else {
            for user in call.members { note(turn(of: user, in: call)) }
        }
        // First all legs, then the telling: a device that is told counts on the call being whole.
        for leg in legs { tell(leg) }
        guard call.isUnanswered, call.legs.isEmpty else { return }
        endCall(
            call, isBusy ? .busy : hasDoNotDisturb ? .declined : isKnown(call) ? .noDevices : .unknownCallee, by: nil)
    }

    /// Whether anybody of those called is one that the server has heard of.
    private func isKnown(_ call: Call) -> Bool {
        // A group that does not exist has no members.
        if case .group = call.to { return !call.callees.handles.isEmpty }
        return call.callees.handles.contains { handle in
            directory.user(handle)?.devices.isEmpty == false || directory.isListed(handle)
        }
    }

    /// Makes the legs of one member.
    private func turn(of user: User, in call: Call) -> Turn {
        if user !== call.callerDevice.user {
            if user.policy.doNotDisturb { return .doNotDisturb }
            if user.isBusy(but: call) { return .busy }
        }
        var legs: [Leg] = []
        for device in user.devices where device !== call.callerDevice && isReachable(device, for: call) {
            guard let leg = addLeg(of: device, to: call) else { break }
            legs.append(leg)
        }
        return legs.isEmpty ? .unreachable : .rings(legs)
    }

    /// - Returns: nil when the call has as many legs as a call may have.
    func addLeg(of device: Device, to call: Call) -> Leg? {
        guard call.legs.count < limits.legsPerCall else {
            counters.hit(.legsPerCall)
            return nil
        }
        let leg = Leg(call: call, device: device, push: makePushID(), createdAt: now)
        call.add(leg)
        device.add(leg)
        legCount += 1
        persist(leg)
        return leg
    }

    // MARK: Hunting

    /// Goes on to the next member.
    /// - Returns: nil when there is none left.
    private func takeTurn(_ call: Call) -> Turn? {
        cancel(&call.huntDeadline)
        guard let hunt = call.hunt, hunt.rung < call.callees.handles.count else { return nil }
        let handle = call.callees.handles[hunt.rung]
        let isLast = hunt.rung + 1 == call.callees.handles.count
        let taken = directory.user(handle).map { turn(of: $0, in: call) } ?? .unreachable
        call.ringNext(at: isLast ? nil : now + timers.huntStep)
        if !isLast { call.huntDeadline = deadlines.add(.hunt(call), at: now + timers.huntStep) }
        persist(call)
        return taken
    }

    /// The time of the member rung last is over, or there is nobody to wait for: on to the next who can be rung.
    func huntOn(_ call: Call) {
        while let turn = takeTurn(call) {
            guard case .rings(let legs) = turn else { continue }
            for leg in legs { tell(leg) }
            return
        }
    }

    /// Whether a hunt need not wait for the member rung last.
    func isHuntIdle(_ call: Call) -> Bool {
        guard let hunt = call.hunt, hunt.nextAt != nil else { return false }
        let current = call.callees.handles[hunt.rung - 1]
        return !call.legs.contains { $0.isOpen && $0.device.key.user == current }
    }

    // MARK: Telling the devices

    /// Over the socket where there is one, by push where there is none. A session in its resume window gets both: the
    /// event waits for its socket, and the push goes for one. So does an app in the background.
    private func tell(_ leg: Leg) {
        guard let session = leg.device.session(for: leg.call) else { return pushOrGiveUp(leg) }
        offer(leg, to: session)
        if !session.isListening {
            endDelivery(of: leg)
            pushOrGiveUp(leg)
        }
    }

    /// Sends `call.incoming`, with what the caller's side has sent so far.
    func offer(_ leg: Leg, to session: Session) {
        let call = leg.call
        guard call.isUnanswered, leg.isOpen else { return }
        let incoming = IncomingCall(
            call: call.id, from: call.caller.user, fromName: call.callerName, to: call.to, video: call.video,
            sdp: call.descriptions.offer, candidates: call.callerCandidates.candidates,
            custom: call.descriptions.custom,
            expiresAt: call.ringsUntil, push: leg.record.push)
        var seq: UInt64?
        for event in incoming.events(candidatesAreFinal: call.callerCandidates.isFinal) {
            let number = deliver(event, to: session)
            seq = seq ?? number
        }
        leg.told = seq.map { (session.id, $0) }
        leg.offer(at: now)
        persist(leg)
        if !leg.isAwake { awaitDelivery(of: leg) }
    }

    /// Gives the device its time for a sign of life.
    func awaitDelivery(of leg: Leg) {
        endDelivery(of: leg)
        leg.deliveryDeadline = deadlines.add(.delivery(leg), at: now + timers.delivery)
        leg.device.undelivered.append(leg)
    }

    /// The sign of life has come, or is not waited for any more.
    func endDelivery(of leg: Leg) {
        guard leg.deliveryDeadline != nil else { return }
        cancel(&leg.deliveryDeadline)
        leg.device.undelivered.removeAll { $0 === leg }
    }

    /// A device that rings has lost its socket. Its app may come back by itself; if it does not, a push starts it again.
    func awaitAttendance(of leg: Leg) {
        if hasUnusedPush(leg) { awaitDelivery(of: leg) }
    }

    /// Told over the socket and no sign of life: the socket may be dead without anybody having noticed. Or the device rang,
    /// and its socket is gone.
    func deliveryOverdue(_ leg: Leg) {
        guard leg.call.isUnanswered, leg.isOpen, leg.state == .offered || leg.isAwake, !leg.isAttended else { return }
        pushOrGiveUp(leg)
    }
}
