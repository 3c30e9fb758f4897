import CallVocabulary
import Determinism

/// Which devices ring when, and how each is told.
extension CallCore {
    /// The result of ringing one member.
    private enum Turn {
        case rings([Leg])
        case busy
        case doNotDisturb
        case unreachable
    }

    /// Rings everybody, or the first member of a hunt; ends the call when nobody can be rung.
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
        // All legs first: telling a device relies on a complete call.
        for leg in legs { tell(leg) }
        guard call.isUnanswered, call.legs.isEmpty else { return }
        endCall(
            call, isBusy ? .busy : hasDoNotDisturb ? .declined : isKnown(call) ? .noDevices : .unknownCallee, by: nil)
    }

    /// Whether the server has ever heard of at least one callee.
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

    /// - Returns: nil when the call has reached ``CoreLimits/legsPerCall``.
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

    /// Advances the hunt to the next member.
    /// - Returns: nil when no member is left.
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

    /// Rings the next member that can be rung: the last one's time is over, or none of its devices is left.
    func huntOn(_ call: Call) {
        while let turn = takeTurn(call) {
            guard case .rings(let legs) = turn else { continue }
            for leg in legs { tell(leg) }
            return
        }
    }

    /// Whether all legs of the member rung last have ended, so that the hunt need not wait.
    func isHuntIdle(_ call: Call) -> Bool {
        guard let hunt = call.hunt, hunt.nextAt != nil else { return false }
        let current = call.callees.handles[hunt.rung - 1]
        return !call.legs.contains { $0.isOpen && $0.device.key.user == current }
    }

    // MARK: Telling the devices

    /// Tells a device: over its socket, or by push when it has none. A session in its resume window, and an app in the
    /// background, get both.
    private func tell(_ leg: Leg) {
        guard let session = leg.device.session(for: leg.call) else { return pushOrGiveUp(leg) }
        offer(leg, to: session)
        if !session.isListening {
            endDelivery(of: leg)
            pushOrGiveUp(leg)
        }
    }

    /// Sends `call.incoming`, with the caller's candidates so far.
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

    /// Starts the time in which the device must show a sign of life.
    func awaitDelivery(of leg: Leg) {
        endDelivery(of: leg)
        leg.deliveryDeadline = deadlines.add(.delivery(leg), at: now + timers.delivery)
        leg.device.undelivered.append(leg)
    }

    /// Stops waiting for a sign of life.
    func endDelivery(of leg: Leg) {
        guard leg.deliveryDeadline != nil else { return }
        cancel(&leg.deliveryDeadline)
        leg.device.undelivered.removeAll { $0 === leg }
    }

    /// A ringing device has lost its socket. Its app may reconnect by itself; otherwise a push starts it again.
    func awaitAttendance(of leg: Leg) {
        if hasUnusedPush(leg) { awaitDelivery(of: leg) }
    }

    /// Pushes a device that was told over a socket and gave no sign of life: the socket may be half-open. Also a device
    /// that rang and has lost its socket.
    func deliveryOverdue(_ leg: Leg) {
        guard leg.call.isUnanswered, leg.isOpen, leg.state == .offered || leg.isAwake, !leg.isAttended else { return }
        pushOrGiveUp(leg)
    }
}
