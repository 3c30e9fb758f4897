import CallVocabulary
import Determinism

/// Which devices ring when, and how each is told.
extension CallCore {
    /// The result of ringing one member.
    private enum Turn {
        case rings([Leg])
        case busy
        /// By do not disturb, or by the user's block list.
        case refused
        case unreachable
    }

    /// Rings the present target: everybody, or the first member of a hunt.
    /// - Returns: why nobody can be rung; nil when a device is told or the call is decided meanwhile.
    func ringTarget(_ call: Call) -> EndReason? {
        var legs: [Leg] = []
        var isBusy = false
        var isRefused = false
        func note(_ turn: Turn) {
            switch turn {
            case .rings(let new): legs += new
            case .busy: isBusy = true
            case .refused: isRefused = true
            case .unreachable: break
            }
        }
        if call.hunt != nil {
            var hasTurned = false
            while legs.isEmpty, let turns = takeTurns(call) {
                turns.forEach(note)
                hasTurned = true
            }
            if hasTurned { persist(call) }
        } else {
            // Before the call is forwarded, all members belong to the present target.
            let isFirst = call.callees.first == 0
            for user in call.members where isFirst || call.rings(user) { note(turn(of: user, in: call)) }
        }
        // All legs first: telling a device relies on a complete call.
        for leg in legs { tell(leg) }
        guard call.isUnanswered, legs.isEmpty else { return nil }
        return isBusy ? .busy : isRefused ? .declined : isKnown(call) ? .noDevices : .unknownCallee
    }

    /// Whether the server has ever heard of at least one callee of the present target.
    private func isKnown(_ call: Call) -> Bool {
        let handles = call.callees.handles[call.callees.first...]
        // A group that does not exist has no members.
        if case .group = call.forwards.last?.to ?? call.to { return !handles.isEmpty }
        return handles.contains { handle in
            directory.user(handle).map { !$0.devices.isEmpty || $0.isListed } ?? false
        }
    }

    /// Makes the legs of one member.
    private func turn(of user: User, in call: Call) -> Turn {
        if user !== call.callerDevice.user {
            if isBlocked(call, by: user) { counters.callsBlocked += 1 }
            if refuses(call, user) { return .refused }
            if user.isBusy(but: call) { return .busy }
        }
        guard hasRoom(toRing: call, at: user) else { return .busy }
        var legs: [Leg] = []
        for device in user.devices where device !== call.callerDevice && isReachable(device, for: call) {
            guard let leg = addLeg(of: device, to: call) else { break }
            legs.append(leg)
        }
        return legs.isEmpty ? .unreachable : .rings(legs)
    }

    /// Whether the user takes no call from this caller at present.
    func refuses(_ call: Call, _ user: User) -> Bool { user.policy.doNotDisturb || isBlocked(call, by: user) }

    func isBlocked(_ call: Call, by user: User) -> Bool {
        user.blocked.contains(call.caller.user)
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
        directory.hold(device.user)
        legCount += 1
        countMemory(of: call)
        persist(leg)
        return leg
    }

    // MARK: Bounds

    /// The bound for which an invite is refused: at each callee as many calls ring as may.
    /// - Parameters:
    ///   - bytes: the content of the invite.
    ///   - caller: the caller's handle.
    /// - Returns: the bound, and when a call that rings now ends at the latest; nil when the invite is within the bounds.
    func ringingRefusal(
        of callees: Callees, bytes: Int, from caller: Handle
    ) -> (limit: CoreLimit, until: Instant)? {
        var refusal: (limit: CoreLimit, until: Instant)?
        for handle in callees.handles {
            guard let user = directory.user(handle), let bound = ringingBound(of: user, adding: bytes, from: caller)
            else { return nil }
            if refusal.map({ bound.until < $0.until }) ?? true { refusal = bound }
        }
        return refusal
    }

    /// Whether the call may ring at the user, besides the calls that ring there already.
    func hasRoom(toRing call: Call, at user: User) -> Bool {
        guard !call.isOffered(to: user),
            let bound = ringingBound(of: user, adding: call.contentBytes, from: call.caller.user)
        else { return true }
        counters.hit(bound.limit)
        return false
    }

    /// The calls that ring at the user.
    func ringingCalls(at user: User) -> CallsAtUser {
        var ringing = CallsAtUser()
        for call in user.liveCalls where call.isUnanswered && call.isOffered(to: user) { ringing.add(call) }
        return ringing
    }

    /// As ``hasRoom(toRing:at:)``, for a call that does not ring at the user yet.
    func hasRoom(toRing call: Call, besides ringing: CallsAtUser) -> Bool {
        let own = ringing.ofCallers[call.caller.user] ?? RingingCalls()
        guard let bound = ringingBound(own, ringing.all, adding: call.contentBytes) else { return true }
        counters.hit(bound.limit)
        return false
    }

    /// The bound that one more call of the caller would exceed at the user.
    private func ringingBound(
        of user: User, adding bytes: Int, from caller: Handle
    ) -> (limit: CoreLimit, until: Instant)? {
        var all = RingingCalls()
        var own = RingingCalls()
        for call in user.liveCalls where call.isUnanswered && call.isOffered(to: user) {
            all.add(call)
            if call.caller.user == caller { own.add(call) }
        }
        if let bound = ringingBound(own, all, adding: bytes) { return bound }
        let unread = unreadBytes(at: user, from: caller)
        guard unread > 0, unread + own.bytes + bytes > limits.ringingPairBytes else { return nil }
        return (.ringingPairBytes, now + Self.unreadPause)
    }

    /// How long a caller is told to wait until the callee has read more.
    private static let unreadPause = Duration.seconds(1)

    /// The content of the caller's calls that rang at the user a moment ago, and that the slowest of the user's devices
    /// has not acknowledged: what comes after it waits as behind a call that rings. A device may acknowledge nothing.
    private func unreadBytes(at user: User, from caller: Handle) -> Int {
        user.devices.reduce(0) { most, device in
            let bytes = device.session?.unreadBytes(from: caller) { offer in
                now < offer.at + timers.pushWindow && calls[offer.call]?.isUnanswered != true
            }
            return max(most, bytes ?? 0)
        }
    }

    /// - Parameter own: of all calls, those of the same caller.
    private func ringingBound(
        _ own: RingingCalls, _ all: RingingCalls, adding bytes: Int
    ) -> (limit: CoreLimit, until: Instant)? {
        if let until = own.until {
            if own.count >= limits.ringingCallsPerPair { return (.ringingCallsPerPair, until) }
            if own.bytes + bytes > limits.ringingPairBytes { return (.ringingPairBytes, until) }
        }
        if let until = all.until {
            if all.count >= limits.ringingCallsPerCallee { return (.ringingCallsPerCallee, until) }
            if all.bytes + bytes > limits.ringingCalleeBytes { return (.ringingCalleeBytes, until) }
        }
        return nil
    }

    // MARK: Hunting

    /// Advances the hunt to the next member, and to those whose turn comes at the same time. The call is to be persisted:
    /// once for all members in a row that cannot be rung, as each record has the whole list.
    /// - Returns: nil when no member is left.
    private func takeTurns(_ call: Call) -> [Turn]? {
        cancel(call.huntDeadline)
        call.huntDeadline = nil
        let handles = call.callees.handles
        guard var rung = call.hunt?.rung, rung < handles.count else { return nil }
        // A delay from the start of the target counts from when this turn was due, even when it comes early or late.
        var due = call.callees.firstDelay.map { call.hunt?.nextAt ?? now + $0 } ?? now
        let end = max(now, due)
        var nextAt: Instant?
        var turns: [Turn] = []
        repeat {
            turns.append(directory.user(handles[rung]).map { turn(of: $0, in: call) } ?? .unreachable)
            rung += 1
            nextAt = rung < handles.count ? due + huntStep(to: rung, of: call) : nil
            due = nextAt ?? due
        } while nextAt.map { $0 <= end } == true
        call.huntOn(to: rung, nextAt: nextAt)
        if let nextAt { schedule(.hunt(call), at: nextAt, in: &call.huntDeadline) }
        return turns
    }

    /// How long after the member before the one at `index` is rung.
    private func huntStep(to index: Int, of call: Call) -> Duration {
        call.callees.steps.isEmpty ? timers.huntStep : call.callees.steps[index] ?? timers.huntStep
    }

    /// Rings the next members that can be rung: their time has come, or the call need not wait for it.
    func huntOn(_ call: Call) {
        var hasTurned = false
        while let turns = takeTurns(call) {
            hasTurned = true
            var legs: [Leg] = []
            for case .rings(let new) in turns { legs += new }
            guard !legs.isEmpty || !isHuntIdle(call) else { continue }
            persist(call)
            for leg in legs { tell(leg) }
            return
        }
        if hasTurned { persist(call) }
    }

    /// Whether all legs of the members rung last have ended, so that the hunt need not wait. With delays from the start,
    /// all legs.
    func isHuntIdle(_ call: Call) -> Bool {
        guard let hunt = call.hunt, hunt.nextAt != nil else { return false }
        guard call.callees.firstDelay == nil else { return !call.legs.contains(where: \.isOpen) }
        var start = hunt.rung - 1
        while start > call.callees.first, huntStep(to: start, of: call) == .zero { start -= 1 }
        let present = start..<hunt.rung
        return !call.legs.contains { leg in
            leg.isOpen && call.callees.position(of: leg.device.key.user).map { present.contains($0) } ?? false
        }
    }

    // MARK: Telling the devices

    /// Tells a device: over its socket, or by push when it has none. A session in its resume window, and an app in the
    /// background, get both. A device without a push token that may come back after a start is waited for.
    private func tell(_ leg: Leg) {
        guard let session = leg.device.session(for: leg.call) else {
            let mustWait = expectsReturn(of: leg.device) && !hasUnusedPush(leg)
            return mustWait ? awaitDelivery(of: leg) : pushOrGiveUp(leg)
        }
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
        leg.toldCandidates = call.callerCandidates.end
        if let seq {
            session.note(
                Session.Offer(seq: seq, call: call.id, from: call.caller.user, bytes: call.contentBytes, at: now),
                within: timers.pushWindow)
        }
        leg.offer(at: now)
        persist(leg)
        if !leg.isAwake { awaitDelivery(of: leg) }
    }

    /// Starts the time in which the device must show a sign of life.
    func awaitDelivery(of leg: Leg) {
        endDelivery(of: leg)
        var due = now + timers.delivery
        // Without a push, nothing else would reach it.
        if expectsReturn(of: leg.device), !hasUnusedPush(leg) { due = max(due, beganAt + timers.comeback) }
        schedule(.delivery(leg), at: due, in: &leg.deliveryDeadline)
        leg.device.undelivered.append(leg)
    }

    /// Stops waiting for a sign of life.
    func endDelivery(of leg: Leg) {
        guard leg.deliveryDeadline != nil else { return }
        cancel(leg.deliveryDeadline)
        leg.deliveryDeadline = nil
        leg.device.undelivered.remove(leg)
    }

    /// A ringing device has lost its socket. Its app may reconnect by itself; otherwise a push starts it again.
    func awaitAttendance(of leg: Leg) {
        if hasUnusedPush(leg) { awaitDelivery(of: leg) }
    }

    /// Pushes a device that was told over a socket and gave no sign of life: the socket may be half-open. Also a device
    /// that rang and has lost its socket, and one that has not come back after a start.
    func deliveryOverdue(_ leg: Leg) {
        guard leg.call.isUnanswered, leg.isOpen, !leg.isAttended else { return }
        guard leg.state != .waking || !isReachable(leg) else { return }
        pushOrGiveUp(leg)
    }
}

/// The calls that ring at one user, of all callers and of each.
struct CallsAtUser {
    fileprivate var all = RingingCalls()
    fileprivate var ofCallers: [Handle: RingingCalls] = [:]

    mutating func add(_ call: Call) {
        all.add(call)
        ofCallers[call.caller.user, default: RingingCalls()].add(call)
    }
}

/// Some calls that ring at one user, counted.
private struct RingingCalls {
    private(set) var count = 0
    private(set) var bytes = 0
    /// When the first of them ends at the latest; nil for none.
    private(set) var until: Instant?

    mutating func add(_ call: Call) {
        count += 1
        bytes += call.contentBytes
        until = until.map { min($0, call.ringsUntil) } ?? call.ringsUntil
    }
}
