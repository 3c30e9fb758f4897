import CallVocabulary
import Determinism

/// Taking a call in: who is called, on which devices, and how each is told.
extension CallCore {
    func invite(_ invite: Invite, _ session: Session, _ connection: ConnectionID, _ request: RequestID) {
        if let ringTime = invite.ringTime, !CallTimers.ringRange.contains(ringTime) {
            return refuse(connection, request, .invalidParams, "ring_ms is outside 5,000 to 180,000.")
        }
        let caller = session.device
        let digest = invite.digest
        if let existing = calls[invite.call] {
            return replyToRepeated(existing, digest, caller, connection, request)
        }
        if isDraining {
            return refuse(connection, request, .draining, "This server takes no new calls; connect to another one.")
        }
        guard invite.payloadBytes <= limits.eventPayloadBytes else {
            counters.limitsHit += 1
            return refuse(
                connection, request, .tooLarge(limit: limits.eventPayloadBytes),
                "to, sdp and custom together are larger than \(limits.eventPayloadBytes) bytes.")
        }
        guard liveCallCount < limits.liveCalls else {
            counters.limitsHit += 1
            return refuse(
                connection, request, .overloaded(retryAfter: .seconds(1)), "Too many calls; try again shortly.")
        }
        guard caller.user.liveCalls.count < limits.liveCallsPerUser else {
            counters.limitsHit += 1
            return refuse(
                connection, request, .limitReached(limit: limits.liveCallsPerUser),
                "\(caller.key.user) has \(limits.liveCallsPerUser) live calls; end some first.")
        }
        let call = Call(
            invite: invite, digest: digest, callerDevice: caller, callerName: session.displayName, createdAt: now,
            ringsUntil: now + (invite.ringTime ?? timers.ring))
        admit(call, members(of: invite.to), connection, request)
    }

    /// The same invite again gets the same answer; the id of another call is never given to a second one.
    private func replyToRepeated(
        _ call: Call, _ digest: UInt64, _ device: Device, _ connection: ConnectionID, _ request: RequestID
    ) {
        guard call.callerDevice.user === device.user else {
            return refuseStranger(connection, request)
        }
        guard call.inviteDigest == digest else {
            return refuse(connection, request, .conflict, "This call_id names another call of yours; make a new UUID.")
        }
        replyInvited(call, connection, request)
    }

    private func replyInvited(_ call: Call, _ connection: ConnectionID, _ request: RequestID) {
        if let ending = call.ending {
            reply(connection, request, .inviteEnded(call.id, ending.reason))
        } else {
            reply(connection, request, .invited(call.id, call.state, expiresAt: call.expiresAt ?? call.ringsUntil))
        }
    }

    /// The users called, each once, in the order given; those nobody knows are left out.
    private func members(of target: CallTarget) -> [User] {
        let handles: [Handle]
        switch target {
        case .user(let handle): handles = [handle]
        case .users(let list): handles = list
        case .group: handles = []
        }
        var seen: Set<Handle> = []
        return handles.compactMap { handle in
            guard seen.insert(handle).inserted, let user = directory.user(handle), !user.devices.isEmpty else {
                return nil
            }
            return user
        }
    }

    private func admit(_ call: Call, _ members: [User], _ connection: ConnectionID, _ request: RequestID) {
        calls[call.id] = call
        liveCallCount += 1
        counters.callsInvited += 1
        call.deadline = deadlines.add(.ring(call), at: call.ringsUntil)
        call.callerDevice.user.liveCalls.append(call)
        for user in members where user !== call.callerDevice.user { user.liveCalls.append(call) }
        persist(.call(call.record))
        if call.offer.sdp != nil || call.offer.custom != nil { persist(.offer(call.offer)) }
        for user in members {
            for device in user.devices where device !== call.callerDevice && device.isReachable(for: call) {
                guard addLeg(of: device, to: call) != nil else { break }
            }
        }
        // First all legs, then the telling: a device that is told counts on the call being whole.
        for leg in call.legs { tell(leg) }
        if call.legs.isEmpty { endCall(call, members.isEmpty ? .unknownCallee : .noDevices, by: nil) }
        replyInvited(call, connection, request)
        call.isAnnounced = true
    }

    /// - Returns: nil when the call has as many legs as a call may have.
    func addLeg(of device: Device, to call: Call) -> Leg? {
        guard call.legs.count < limits.legsPerCall else {
            counters.limitsHit += 1
            return nil
        }
        let leg = Leg(call: call, device: device, push: makeID(), createdAt: now)
        call.legs.append(leg)
        device.legs.append(leg)
        persist(.leg(leg.record))
        return leg
    }

    /// Over the socket where there is one, by push where there is none. A session in its resume window gets both: the
    /// event waits for its socket, and the push goes for one.
    private func tell(_ leg: Leg) {
        guard let session = leg.device.session(for: leg.call) else { return pushOrGiveUp(leg) }
        offer(leg, to: session)
        if session.connection == nil {
            cancel(&leg.deliveryDeadline)
            pushOrGiveUp(leg)
        }
    }

    /// Sends `call.incoming`, with what the caller's side has sent so far.
    func offer(_ leg: Leg, to session: Session) {
        let call = leg.call
        guard call.isUnanswered, leg.isOpen else { return }
        var bytes = call.offer.payloadBytes + call.targetBytes
        let fitting = call.callerCandidates.candidates.prefix { candidate in
            bytes += candidate.bytes.count + 1
            return bytes <= limits.eventPayloadBytes
        }
        let event = IncomingCall(
            call: call.id, from: call.caller.user, fromName: call.callerName, to: call.to, video: call.video,
            sdp: call.offer.sdp, candidates: Array(fitting), custom: call.offer.custom, expiresAt: call.ringsUntil,
            push: leg.record.push)
        let seq = deliver(.incoming(event), to: session)
        if fitting.count < call.callerCandidates.candidates.count || call.callerCandidates.isFinal {
            let rest = call.callerCandidates.candidates[fitting.count...]
            deliver(rest, isFinal: call.callerCandidates.isFinal, of: call, to: session)
        }
        leg.told = (session.id, seq)
        leg.offer(at: now)
        persist(.leg(leg.record))
        if !leg.isAwake { awaitDelivery(of: leg) }
    }

    /// Gives the device its time for a sign of life.
    func awaitDelivery(of leg: Leg) {
        cancel(&leg.deliveryDeadline)
        leg.deliveryDeadline = deadlines.add(.delivery(leg), at: now + timers.delivery)
    }

    /// Told over the socket and no sign of life: the socket may be dead without anybody having noticed.
    func deliveryOverdue(_ leg: Leg) {
        guard leg.call.isUnanswered, leg.state == .offered else { return }
        pushOrGiveUp(leg)
    }
}

extension Device {
    /// Whether a call can reach it, now or by waking it.
    func isReachable(for call: Call) -> Bool { session(for: call) != nil || voipToken != nil }
}

extension Call {
    /// Whether `user` is among those called.
    func calls(_ user: User) -> Bool {
        switch to {
        case .user(let handle): handle == user.handle
        case .users(let handles): handles.contains(user.handle)
        case .group: false
        }
    }
}

extension OfferRecord {
    var payloadBytes: Int { (sdp?.bytes.count ?? 0) + (custom?.bytes.count ?? 0) }
}

extension Invite {
    /// How many bytes of the caller's data each `call.incoming` will carry.
    var payloadBytes: Int { (sdp?.bytes.count ?? 0) + (custom?.bytes.count ?? 0) + to.bytes }

    /// Tells one body from another: FNV-1a over the fields, the same in every process.
    var digest: UInt64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        func mix(_ bytes: some Sequence<UInt8>) {
            for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
            // Ends each field, so that two fields never run into one another.
            hash = (hash ^ 0x1FF) &* 0x100_0000_01b3
        }
        switch to {
        case .user(let handle): mix("u\(handle)".utf8)
        case .users(let handles): for handle in handles { mix("l\(handle)".utf8) }
        case .group(let name): mix("g\(name)".utf8)
        }
        mix("\(ringTime?.wholeMilliseconds ?? -1) \(video)".utf8)
        mix(sdp?.bytes ?? [])
        mix(custom?.bytes ?? [])
        return hash
    }
}
