import CallVocabulary
import Determinism

/// Sessions: opening, resuming, replacing, losing and closing them.
extension CallCore {
    func openSession(_ connection: ConnectionID, _ request: RequestID, _ open: SessionOpen, _ grant: SessionGrant) {
        guard directory.session(on: connection) == nil, openSessionQuestions[connection] == nil else {
            return refuse(connection, request, .badState(nil), "This connection has a session already.")
        }
        guard directory.sessionCount < limits.sessions else {
            counters.hit(.sessions)
            return refuse(
                connection, request, .overloaded(retryAfter: .seconds(5)), "This server is full; try again shortly.")
        }
        let key = DeviceKey(user: grant.user, device: open.device.id)
        if grant.scope == .full { dropOpening(of: key, but: connection) }
        guard
            isAtHand(
                wanted(for: open, grant), for: .client(.opened(connection, request, open, grant)),
                in: .connection(connection))
        else { return }
        if let refusal = revocation(of: grant) { return turnAway(connection, request, refusal) }
        let device: Device
        switch grant.scope {
        case .full:
            guard mayOpen(open, grant, connection, request) else { return }
            guard let admitted = admitDevice(open, grant) else {
                counters.hit(.devicesPerUser)
                let words = "\(limits.devicesPerUser) devices, all online or in calls. Log one out, then open again."
                return refuse(
                    connection, request, .limitReached(limit: limits.devicesPerUser), "\(grant.user) has \(words)")
            }
            device = admitted
        case .call(let call):
            guard let known = directory.user(grant.user)?.device(open.device.id), let leg = calls[call]?.leg(of: known)
            else { return refuse(connection, request, .forbidden, "This wake token is for another device or call.") }
            if let refusal = revocation(ofWakeTokenFor: leg) { return turnAway(connection, request, refusal) }
            guard !known.hasLoggedOut else {
                return refuse(
                    connection, request, .forbidden, "This device has logged out; open with a user token.")
            }
            if let session = known.session, session.scope == .full, session.connection != nil,
                !isSilent(session, since: leg)
            {
                return refuse(connection, request, .conflict, "This device has a full session; act on the call there.")
            }
            device = known
        }
        if let resumed = resume(open.resume, device, grant) {
            directory.attach(resumed, to: connection, at: now)
            finishOpening(resumed, connection, request, grant, replayAfter: open.resume?.lastSeq)
        } else {
            let session = newSession(device, open, grant)
            directory.attach(session, to: connection, at: now)
            finishOpening(session, connection, request, grant, replayAfter: nil)
        }
    }

    private func wanted(for open: SessionOpen, _ grant: SessionGrant) -> Wanted {
        var wanted = wanted(grant.user)
        switch grant.scope {
        case .full:
            let device = directory.user(grant.user)?.device(open.device.id)
            wanted.tokens = wantedHolders(of: open.push ?? [], on: device)
        case .call(let call): if calls[call] == nil, mayBeStored(call) { wanted.call = call }
        }
        return wanted
    }

    /// Makes a new session, which replaces the device's present one.
    private func newSession(_ device: Device, _ open: SessionOpen, _ grant: SessionGrant) -> Session {
        let isColdStart = open.resume == nil && device.session?.scope.isWake != true
        let inheritedBefore = device.session?.inheritedCalls ?? []
        if let old = device.session {
            replace(old, as: grant.scope.isWake && old.scope == .full ? .pingTimeout : .replaced)
            // The device's calls lose this session now, and so have the whole window to be taken up again.
            cancel(device.absence)
            device.absence = nil
        }
        if grant.scope.isWake {
            awaitReturn(of: device)
            for call in device.user.liveCalls where !grant.scope.mayAct(on: call.id) {
                noteAway(device, from: call)
            }
        } else {
            cancel(device.absence)
            device.absence = nil
        }
        let session = Session(
            id: makeSessionID(), device: device, scope: grant.scope, resumeToken: makeToken(), openedAt: now)
        if isColdStart {
            session.inheritedCalls = device.user.liveCalls.compactMap { call in
                guard let role = call.partyRole(of: device) else { return nil }
                let before = inheritedBefore.first { $0.id == call.id }?.lostAt
                return (id: call.id, lostAt: before ?? call.absences[role]?.lostAt ?? now)
            }
        }
        device.session = session
        directory.hold(device.user)
        heldSessions += 1
        return session
    }

    /// Whether the user may open a session now.
    /// - Returns: false when the request was refused, or waits for the backend.
    private func mayOpen(
        _ open: SessionOpen, _ grant: SessionGrant, _ connection: ConnectionID, _ request: RequestID
    ) -> Bool {
        guard !directory.isAlias(grant.user) else {
            refuse(
                connection, request, .conflict,
                "\(grant.user) is an alias of \(directory.resolve(grant.user)); open as that user.")
            return false
        }
        let user = directory.user(grant.user)
        let known = user?.device(open.device.id)
        if let user, let tokens = open.push, hasOthers(than: tokens, known) {
            guard mayRegister(tokens, of: user, isNew: known == nil, connection, request) else { return false }
        }
        dropQuestion(of: DeviceKey(user: grant.user, device: open.device.id))
        if let known, resumable(open.resume, known, grant) != nil { return true }
        return isAuthorized(open, grant, connection, request)
    }

    /// Whether the device's tokens are not these. A new device has none.
    private func hasOthers(than tokens: [PushToken], _ device: Device?) -> Bool {
        let (new, held) = (tokens.prefix(limits.tokensPerDevice), device?.tokens.map(\.token) ?? [])
        return new.contains { !held.contains($0) } || held.contains { !new.contains($0) }
    }

    /// Whether the tokens, which the device does not have yet, may be written. Those of a known device are an update.
    /// - Returns: false after refusing the request.
    private func mayRegister(
        _ tokens: [PushToken], of user: User, isNew: Bool, _ connection: ConnectionID, _ request: RequestID
    ) -> Bool {
        guard isNew else { return mayUpdateDevice(user, tokens, connection, request) }
        guard let refusal = storageRefusal(of: user, storedBytes(ofDeviceWith: tokens)) else { return true }
        refuse(connection, request, refusal)
        return false
    }

    /// Finds or creates the device, and updates it from the request.
    private func admitDevice(_ open: SessionOpen, _ grant: SessionGrant) -> Device? {
        let user = directory.known(grant.user)
        let device: Device
        var isRegistered = false
        if let known = user.device(open.device.id) {
            device = known
        } else {
            guard makeRoom(user) else { return nil }
            // Calls in memory know a dropped device by its object.
            device =
                user.dropped.removeValue(forKey: open.device.id)
                ?? Device(
                    key: DeviceKey(user: user.handle, device: open.device.id), user: user,
                    platform: open.device.platform, seenAt: now)
            device.isDropped = false
            user.devices.append(device)
            isRegistered = true
        }
        device.platform = open.device.platform
        device.app = open.device.app
        device.name = open.device.name
        device.seenAt = now
        if device.ageDeadline == nil { awaitAge(of: device) }
        device.hasLoggedOut = false
        let wasRestored = restoreHealth(of: device)
        if let tokens = open.push, setTokens(tokens, of: device) {
            if !isRegistered { user.deviceUpdateBound.spend(at: now, limits.deviceUpdatesPerUser, in: Self.minute) }
            isRegistered = true
        }
        let tokens = device.tokens.map(\.token)
        let bytes = isRegistered ? storedBytes(ofDeviceWith: tokens) : StoredBytes.of(tokens)
        // No session is refused because its device was seen: beyond the user's share of the disk, that is not written.
        guard isRegistered || wasRestored || hasStorage(of: user, bytes) else { return device }
        spendStorage(bytes, of: user)
        persist(device)
        if isRegistered { record(.registered, of: device) }
        return device
    }

    /// - Returns: whether the device's tokens are others now.
    func setTokens(_ tokens: [PushToken], of device: Device) -> Bool {
        let old = device.tokens.map(\.token)
        for loser in directory.setTokens(Array(tokens.prefix(limits.tokensPerDevice)), of: device, now: now) {
            spendStorage(StoredBytes.of(loser.tokens.map(\.token)), of: device.user)
            persist(loser)
        }
        return device.tokens.map(\.token) != old
    }

    /// The device's session, if the request may resume it.
    private func resumable(_ request: ResumeRequest?, _ device: Device, _ grant: SessionGrant) -> Session? {
        guard let request, let session = device.session, session.id == request.session,
            session.resumeToken == request.token, session.scope == grant.scope,
            session.missing(after: request.lastSeq) != nil
        else { return nil }
        return session
    }

    private func resume(_ request: ResumeRequest?, _ device: Device, _ grant: SessionGrant) -> Session? {
        guard let session = resumable(request, device, grant) else { return nil }
        if let stale = session.connection {
            directory.detach(session)
            effects.append(.disconnect(stale, .replaced))
        }
        cancel(session.resumeDeadline)
        session.resumeDeadline = nil
        session.resumeToken = makeToken()
        counters.sessionsResumed += 1
        return session
    }

    /// Replies to the request, then sends the missed events on a resume, or the live calls in a new session.
    private func finishOpening(
        _ session: Session, _ connection: ConnectionID, _ request: RequestID, _ grant: SessionGrant,
        replayAfter: UInt64?
    ) {
        session.displayName = grant.displayName
        session.allowance = grant.allowance
        let device = session.device
        observe(session, on: connection)
        noteOpening(of: session)
        withdrawNotices(to: device)
        var told: [Leg] = []
        if let replayAfter { acknowledge(session, replayAfter) } else { told = lateLegs(of: device, session) }
        var opened = SessionOpened(
            session: session.id, user: device.key.user, resumeToken: session.resumeToken, resumeWindow: timers.resume,
            resumed: replayAfter != nil, calls: snapshots(for: device, session),
            missed: session.scope == .full ? device.user.missed : [])
        opened.fitToFrame()
        noteBack(session)
        for leg in device.liveLegs where leg.isAttended {
            endDelivery(of: leg)
            withdrawPush(leg, reason: "the device is back")
        }
        // A resumed session may lose this reply too: the missed events tell of the ends.
        if replayAfter == nil { noteEnds(told: opened.calls, to: session) }
        reply(connection, request, .opened(opened))
        if let replayAfter {
            for missing in session.missing(after: replayAfter) ?? [] {
                effects.append(.send(connection, .event(seq: missing.seq, missing.event)))
            }
            expectSignsOfLife(session)
        }
        for leg in told { offer(leg, to: session) }
        deliverHeldMedia(to: session)
        if isDraining { tellOfDraining(session) }
    }

    /// Marks the ends in the reply of a new session as told. The reply precedes all events: a client that acknowledges
    /// an event has read it.
    private func noteEnds(told snapshots: [CallSnapshot], to session: Session) {
        for snapshot in snapshots where snapshot.role == .callee && snapshot.state == .ended {
            calls[snapshot.call]?.leg(of: session.device)?.told = (session.id, 0)
        }
    }

    private func observe(_ session: Session, on connection: ConnectionID) {
        var wakeCall: CallID?
        if case .call(let call) = session.scope { wakeCall = call }
        let device = session.device
        let record = SessionRecord(
            id: session.id, device: device.key, platform: device.platform, app: device.app, wakeCall: wakeCall,
            connection: connection, openedAt: session.openedAt, onlineSince: now)
        effects.append(.observe(.online(record)))
    }

    /// Restarts the time for a sign of life: unacknowledged calls of this session are sent again to its new socket.
    private func expectSignsOfLife(_ session: Session) {
        for leg in session.device.liveLegs where leg.isOpen && !leg.isAwake && leg.call.isUnanswered {
            guard let told = leg.told, told.session == session.id else { continue }
            leg.offer(at: now)
            persist(leg)
            if told.seq > session.acknowledged { awaitDelivery(of: leg) }
        }
    }

    /// The legs of the user's live calls that this new session is to be offered, one per call and device.
    private func lateLegs(of device: Device, _ session: Session) -> [Leg] {
        var legs: [Leg] = []
        let user = device.user
        // Counted once: others decide how many calls have the user as a callee.
        var ringing = ringingCalls(at: user)
        for call in user.liveCalls where call.isUnanswered && session.mayAct(on: call.id) {
            guard call.callerDevice !== device else { continue }
            let isNew = !call.isOffered(to: user)
            func mayRing() -> Bool { mayStillRing(user, call) && (!isNew || hasRoom(toRing: call, besides: ringing)) }
            var found = call.leg(of: device)
            if let leg = found {
                // The device was unreachable and told nothing; now it has connected by itself.
                if leg.record.endReason == .noDevices, mayRing() { reopen(leg) }
            } else if mayRing(), storageRefusal(of: user, StoredBytes.device) == nil {
                // The caller was charged for the devices of before.
                found = addLeg(of: device, to: call)
                if found != nil { spendStorage(StoredBytes.device, of: user) }
            }
            guard let leg = found, leg.isOpen else { continue }
            if isNew { ringing.add(call) }
            legs.append(leg)
        }
        return legs
    }

    func reopen(_ leg: Leg) {
        leg.reopen()
        leg.device.legReopened(leg)
    }

    /// Whether a device that comes late may ring: not after its user's decline, nor with do not disturb.
    func mayStillRing(_ user: User, _ call: Call) -> Bool {
        guard call.rings(user) else { return false }
        if call.isDeclined(by: user), user.policy.decline == .all { return false }
        if user === call.callerDevice.user || call.engages(user) { return true }
        return !refuses(call, user) && !user.isBusy(but: call)
    }

    func loseConnection(_ connection: ConnectionID) {
        forgetLane(of: connection)
        forgetQuestion(on: connection)
        guard let session = directory.session(on: connection) else { return }
        directory.detach(session)
        noteSeen(session.device)
        effects.append(.observe(.away(session.id, session.device.key, at: now)))
        schedule(.resume(session), at: now + timers.resume, in: &session.resumeDeadline)
        fallBackToPush(session.device)
        for leg in session.device.liveLegs where leg.isOpen && leg.isAwake && leg.call.isUnanswered {
            awaitAttendance(of: leg)
        }
        for call in session.device.user.liveCalls where session.mayAct(on: call.id) {
            noteAway(session.device, from: call)
        }
    }

    /// Whether a full session's socket has been silent since the device was pushed for the call. It may be half-open,
    /// and then must not keep out the app that the push started.
    private func isSilent(_ session: Session, since leg: Leg) -> Bool {
        guard let sentAt = leg.push?.record.sentAt, session.connectedAt <= sentAt, !leg.isAwake else { return false }
        guard let told = leg.told, told.session == session.id else { return true }
        return told.seq > session.acknowledged
    }

    /// Pushes a device that was told over the socket and has shown no sign of life: the event may be lost.
    func fallBackToPush(_ device: Device) {
        for leg in device.liveLegs where leg.isOpen && leg.call.isUnanswered && !leg.isAwake {
            endDelivery(of: leg)
            pushOrGiveUp(leg)
        }
    }

    /// Ends a session for good, on any connection.
    func dropSession(_ session: Session) {
        let device = session.device
        if session.connection != nil { noteSeen(device) }
        directory.detach(session)
        cancel(session.resumeDeadline)
        session.resumeDeadline = nil
        guard device.session === session else { return }
        device.session = nil
        directory.release(device.user)
        heldSessions -= 1
        effects.append(.observe(.ended(session.id, device.key)))
        // A wake session had no part in other calls: their `awaitReturn` has run since it was opened.
        for call in device.user.liveCalls where session.mayAct(on: call.id) { deviceGone(device, from: call) }
    }

    private func replace(_ old: Session, as code: CloseCode) {
        if let connection = old.connection {
            directory.detach(old)
            effects.append(.disconnect(connection, code))
        }
        cancel(old.resumeDeadline)
        old.resumeDeadline = nil
        old.device.heldMedia += old.unacknowledgedMedia
        old.device.session = nil
        directory.release(old.device.user)
        heldSessions -= 1
        effects.append(.observe(.ended(old.id, old.device.key)))
    }

    /// Waits for the device to open a session, for calls without one to be resumed: after a restart, or behind a wake
    /// session.
    func awaitReturn(of device: Device) {
        if device.absence == nil { schedule(.absence(device), at: now + timers.resume, in: &device.absence) }
    }

    /// Gives the device up for each call that it has no session for.
    func returnOverdue(_ device: Device) {
        for call in device.user.liveCalls where device.session(for: call) == nil { deviceGone(device, from: call) }
    }

    /// Handles a device that will not return: ends a call it is a party of, and pushes it for a call that still rings.
    private func deviceGone(_ device: Device, from call: Call) {
        if call.isParty(device) { return endCall(call, .connectionLost, by: device.party) }
        guard let leg = call.leg(of: device), leg.isOpen, call.isUnanswered else { return }
        endDelivery(of: leg)
        pushOrGiveUp(leg)
    }

    func closeSession(_ session: Session, _ connection: ConnectionID, _ request: RequestID) {
        reply(connection, request, .done)
        effects.append(.disconnect(connection, .normal))
        dropSession(session)
    }

    /// Closes the session and drops the tokens in one step, so that no push follows a logout.
    func logOut(_ session: Session, _ connection: ConnectionID, _ request: RequestID) {
        forgetTokens(of: session.device)
        reply(connection, request, .done)
        leave(session.device, .loggedOut)
    }

    /// The first half of a logout.
    func forgetTokens(of device: Device) {
        device.hasLoggedOut = true
        if setTokens([], of: device) { persist(device) }
    }

    /// The second half of a logout: ends the device's session and its parts in live calls. The calls go on without it
    /// where they can.
    func leave(_ device: Device, _ code: CloseCode) {
        if let session = device.session {
            if let connection = session.connection { effects.append(.disconnect(connection, code)) }
            dropSession(session)
        }
        // Without a session it may be a party all the same: after a restart, or after an answer over HTTP.
        for call in device.user.liveCalls where call.isParty(device) {
            endCall(call, .connectionLost, by: device.party)
        }
        for leg in device.liveLegs where leg.isOpen && leg.call.isLive {
            closeLeg(leg, .noDevices, by: nil, isOwnAct: true)
            goOnWithoutLeg(leg.call, .noDevices, by: nil)
        }
    }

    func acknowledge(_ session: Session, _ seq: UInt64) {
        guard session.acknowledge(seq) else { return }
        let device = session.device
        noteLife(of: device)
        for leg in device.undelivered {
            guard let told = leg.told, told.session == session.id, told.seq <= seq else { continue }
            cancel(leg.deliveryDeadline)
            leg.deliveryDeadline = nil
        }
        device.undelivered.removeAll { $0.deliveryDeadline == nil }
        device.acknowledged(seq, in: session)
    }
}
