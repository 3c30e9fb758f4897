import CallVocabulary
import Determinism

/// Accepting an invite: limits, repeated invites, glare.
extension CallCore {
    func invite(_ invite: Invite, _ session: Session, _ connection: ConnectionID, _ request: RequestID) {
        guard hasValidRingTime(invite, connection, request) else { return }
        let caller = session.device
        let digest = invite.digest
        if let existing = calls[invite.call] {
            return replyToRepeated(existing, digest, caller, connection, request)
        }
        if joinsQuestion(invite, caller, connection, request) { return }
        let work = Deferred.Work.client(.requested(connection, request, .owner(.invite(invite))))
        if mayBeStored(invite.call) {
            _ = isAtHand(Wanted(call: invite.call), for: work, in: .call(invite.call))
            return
        }
        guard isAllowed(invite, session, connection, request), let permit = permit(connection, request) else { return }
        var invite = invite
        if let target = permit.to { invite.to = target }
        if let ringTime = permit.ringTime { invite.ringTime = min(ringTime, timers.longestRing) }
        let name = permit.fromName ?? session.displayName
        let ending = inheritedCalls(of: session).map { $0.call }
        guard mayInvite(invite, caller.user, name: name, ending: ending, connection, request),
            isAtHand(wanted(for: invite), for: work, in: .call(invite.call)),
            isAuthorized(invite, caller, connection, request),
            let callees = callees(of: invite, from: caller, name: name, connection, request)
        else { return }
        endInheritedCalls(of: session)
        spendAllowance(of: session)
        begin(invite, digest, callees, caller, name: name, connection, request)
    }

    /// What the call needs to begin. The lookup of the callees also tells again that the store does not have the call.
    func wanted(for invite: Invite) -> Wanted {
        var wanted = wanted(for: invite.to)
        if !wanted.isEmpty, knownCalls.mayContain(invite.call) { wanted.call = invite.call }
        return wanted
    }

    func hasValidRingTime(_ invite: Invite, _ connection: ConnectionID, _ request: RequestID) -> Bool {
        let rings = CallTimers.ringRange.lowerBound...timers.longestRing
        guard let ringTime = invite.ringTime, !rings.contains(ringTime) else { return true }
        refuse(
            connection, request, .invalidParams,
            "ring_ms is outside \(rings.lowerBound.wholeMilliseconds) to \(rings.upperBound.wholeMilliseconds).")
        return false
    }

    /// The callees of an invite; nil, with a refusal, beyond the bounds of pushes, of ringing calls and of what the caller
    /// may store.
    func callees(
        of invite: Invite, from caller: Device, name: String?, _ connection: ConnectionID, _ request: RequestID
    ) -> Callees? {
        let callees = Callees(of: invite.to, in: directory)
        if let refusal = storageRefusal(of: caller.user, storedBytes(of: invite, callees, name: name)) {
            refuse(connection, request, refusal)
            return nil
        }
        if let refusal = pushRefusal(of: callees, from: caller) {
            refuseForNow(connection, request, "Too many calls that push", refusal)
            return nil
        }
        if let refusal = ringingRefusal(of: callees, bytes: invite.payloadBytes, from: caller.key.user) {
            refuseForNow(connection, request, "Too many calls ring there already", refusal)
            return nil
        }
        return callees
    }

    private func refuseForNow(
        _ connection: ConnectionID, _ request: RequestID, _ words: String,
        _ refusal: (limit: CoreLimit, until: Instant)
    ) {
        counters.hit(refusal.limit)
        // A call whose forwarding is being looked up may ring a little longer than that.
        let wait = max(.milliseconds(1), refusal.until - now)
        refuse(
            connection, request, .rateLimited(retryAfter: wait),
            "\(words) (\(refusal.limit.rawValue)); call again in \(Self.seconds(until: refusal.until, from: now)) s.")
    }

    private func storedBytes(of invite: Invite, _ callees: Callees, name: String?) -> Int {
        invite.payloadBytes + storedBytes(of: callees.handles, to: invite.to, callerName: name)
    }

    /// Begins the call of an accepted invite.
    func begin(
        _ invite: Invite, _ digest: UInt64, _ callees: Callees, _ caller: Device, name: String?,
        _ connection: ConnectionID, _ request: RequestID
    ) {
        let call = Call(
            invite: invite, digest: digest, callees: callees, callerDevice: caller, callerName: name, createdAt: now,
            ringsUntil: now + ringTime(of: callees, forwards: 0, caller: caller.key.user, asked: invite.ringTime))
        spendStorage(storedBytes(of: invite, callees, name: name), of: caller.user)
        admit(call)
        replyInvited(call, connection, request)
        call.isAnnounced = true
    }

    /// Seconds until `until`, rounded up, at least 1.
    static func seconds(until: Instant, from now: Instant) -> Int64 {
        max(1, ((until - now).wholeMilliseconds + 999) / 1000)
    }

    /// Ends the calls of an app that was restarted, does not know them, and now places another call.
    private func endInheritedCalls(of session: Session) {
        for (call, lostAt) in inheritedCalls(of: session) {
            endCall(call, .connectionLost, by: session.device.party, lostAt: lostAt)
        }
        session.inheritedCalls = []
    }

    private func inheritedCalls(of session: Session) -> [(call: Call, lostAt: Instant)] {
        session.inheritedCalls.compactMap { inherited in
            guard let call = calls[inherited.id], call.isLive, call.isParty(session.device) else { return nil }
            return (call: call, lostAt: inherited.lostAt)
        }
    }

    /// Refuses an invite beyond the limits.
    /// - Parameters:
    ///   - name: the caller's name.
    ///   - ending: the caller's live calls that the invite will end.
    func mayInvite(
        _ invite: Invite, _ caller: User, name: String?, ending: [Call] = [], _ connection: ConnectionID,
        _ request: RequestID
    ) -> Bool {
        let refusal: (SignalError.Code, String)
        var limit: CoreLimit?
        if isDraining {
            refusal = (.draining, "This server takes no new calls; connect to another one.")
        } else if invite.payloadBytes > FrameLimits.content {
            limit = .inviteContent
            refusal = (
                .tooLarge(limit: FrameLimits.content),
                "to, sdp and custom together are larger than \(FrameLimits.content) bytes."
            )
        } else if liveCallCount - ending.count >= limits.liveCalls {
            limit = .liveCalls
            refusal = (.overloaded(retryAfter: .seconds(1)), "Too many calls; try again shortly.")
        } else if caller.ownCalls.count - ending.count(where: { $0.callerDevice.user === caller })
            >= limits.liveCallsPerUser
        {
            limit = .liveCallsPerUser
            refusal = (
                .limitReached(limit: limits.liveCallsPerUser),
                "\(caller.handle) has placed \(limits.liveCallsPerUser) live calls (live_calls_per_user); end some first."
            )
        } else if !makeRoom(for: Call.bytes(of: invite, callerName: name), of: caller) {
            limit = .callBytesPerUser
            refusal = (
                .rateLimited(retryAfter: .seconds(1)),
                "The calls of \(caller.handle) take more than \(limits.callBytesPerUser) bytes of memory (call_bytes_per_user); end some, or call again in 1 s."
            )
        } else {
            return true
        }
        if let limit { counters.hit(limit) }
        refuse(connection, request, refusal.0, refusal.1)
        return false
    }

    /// A repeated invite gets the same reply. The id of a call is never used for a second one.
    private func replyToRepeated(
        _ call: Call, _ digest: UInt64, _ device: Device, _ connection: ConnectionID, _ request: RequestID
    ) {
        guard call.callerDevice.user === device.user else {
            return refuseStranger(connection, request)
        }
        guard call.callerDevice === device, call.inviteDigest == digest else {
            return refuse(connection, request, .conflict, Self.conflictingInvite)
        }
        replyInvited(call, connection, request)
    }

    static let conflictingInvite =
        "This call_id names another call of yours, or one from another of your devices; make a new UUID."

    func replyInvited(_ call: Call, _ connection: ConnectionID, _ request: RequestID) {
        if let ending = call.ending {
            reply(connection, request, .inviteEnded(call.id, ending.reason))
        } else {
            reply(connection, request, .invited(call.id, call.state, expiresAt: call.expiresAt ?? call.ringsUntil))
        }
    }

    private func admit(_ call: Call) {
        calls[call.id] = call
        knownCalls.insert(call.id)
        call.callerDevice.placedCalls += 1
        directory.hold(call.callerDevice.user)
        liveCallCount += 1
        counters.callsInvited += 1
        schedule(.ring(call), at: call.ringsUntil, in: &call.deadline)
        enterLiveCalls(call)
        persist(call, .invited(custom: call.descriptions.custom))
        if !call.descriptions.isEmpty { persist(.descriptions(call.descriptions)) }
        if let winner = resolveGlare(call) { return endCall(call, .glare, by: nil, mergedInto: winner) }
        ringFirst(call)
    }

    /// Adds the call to the live calls of its caller and all callees.
    func enterLiveCalls(_ call: Call) {
        call.callerDevice.user.liveCalls.append(call)
        call.callerDevice.user.ownCalls.append(call)
        enterLiveCalls(call, from: 0)
    }

    /// Adds the call to the live calls of its callees from `first` on, also of those that are not registered yet.
    func enterLiveCalls(_ call: Call, from first: Int) {
        for handle in call.callees.handles[first...] {
            let user = directory.known(handle)
            if user.devices.isEmpty {
                let share = CoreLimits.share(of: limits.awaitedHandles)
                guard awaitedHandles < limits.awaitedHandles, awaitedShares.count(of: call.caller.user) < share else {
                    counters.hit(.awaitedHandles)
                    continue
                }
                awaitedHandles += 1
                awaitedShares.add(to: call.caller.user)
                call.awaitedHandles += 1
            }
            call.members.append(user)
            directory.hold(user)
            if user !== call.callerDevice.user { user.liveCalls.append(call) }
        }
        countMemory(of: call)
    }

    /// Resolves glare, two users who call each other at the same time: the lower `call_id` continues, the other ends in
    /// its favour. A call that the callee refuses does not continue.
    /// - Returns: the call that continues in place of `call`; nil when that is `call` itself.
    private func resolveGlare(_ call: Call) -> CallID? {
        guard call.callees.isOne, let callee = call.members.first else { return nil }
        let glaring = callee.ownCalls.filter { other in
            other !== call && other.callerDevice !== call.callerDevice
                && other.isGlaring(with: call.callerDevice.user, to: callee)
        }
        if let winner = glaring.map(\.id).min(), winner < call.id || refuses(call, callee) { return winner }
        for other in glaring { endCall(other, .glare, by: nil, mergedInto: call.id) }
        return nil
    }
}

extension Invite {
    /// Bytes of the caller's data in each `call.incoming`.
    var payloadBytes: Int { (sdp?.bytes.count ?? 0) + (custom?.bytes.count ?? 0) + to.wireBytes }

    /// A digest of the body, the same in every process.
    var digest: UInt64 {
        var digest = BodyDigest()
        switch to {
        case .user(let handle): digest.mix("u", handle.text)
        case .users(let handles): for handle in handles { digest.mix("l", handle.text) }
        case .group(let name): digest.mix("g", name)
        }
        digest.mix(UInt64(bitPattern: ringTime?.wholeMilliseconds ?? -1))
        digest.mix(video ? 1 : 0)
        digest.mix(sdp?.bytes ?? [])
        digest.mix(custom?.bytes ?? [])
        // Calls of earlier releases keep their digest.
        if let maxDuration { digest.mix(UInt64(bitPattern: maxDuration.wholeMilliseconds)) }
        return digest.value
    }
}
