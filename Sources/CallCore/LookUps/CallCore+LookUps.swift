import CallVocabulary
import Determinism

/// Looking up what is not in memory: calls that are over, users, and the holders of push tokens.
///
/// An input that needs more than there is in memory waits for the store's answer, in a ``Lane``, and is then handled
/// again from the beginning. Before, only the sign of life of its device has been noted.
extension CallCore {
    /// How long inputs wait for one answer of the store. The time has two halves; the second begins when the core has
    /// seen the end of the first. A process that was stopped meanwhile loses one of them at most: nothing worked on the
    /// answer.
    public static let lookUpPatience = Duration.seconds(2)
    static let halfPatience = lookUpPatience / 2
    /// About the most look-ups of calls of one user at a time. The store reads them one after the other, and each may have
    /// a thousand legs, which takes some milliseconds.
    static let mostCallsOfUser = 16

    // MARK: Asking

    /// Whether an input can be handled now. Otherwise it waits in the lane until `wanted` is looked up, or is put off.
    func isAtHand(_ wanted: Wanted, for work: Deferred.Work, in lane: Lane) -> Bool {
        guard !wanted.isEmpty else { return true }
        var deferred = deferred(work)
        var wanted = wanted
        // What the last question brought may have left memory before the next answer.
        if let answered { wanted.merge(answered) }
        // The longest list leaves room for what waits behind it.
        let share = CoreLimits.share(of: limits.lookUps)
        deferred.size = min(wanted.size, max(1, share / 2))
        if wanted.call != nil { deferred.size = max(deferred.size, share / Self.mostCallsOfUser) }
        // Nobody repeats the request of a call that is forwarded.
        let isForwarding = if case .forwarding = lane { true } else { false }
        if !isForwarding, let limit = fullLimit(for: deferred.user, isForCall: wanted.call != nil) {
            counters.hit(limit)
            putOff(deferred)
            return false
        }
        precondition(lanes[lane] == nil, "an input waits behind the earlier ones of its lane")
        noteWaiting([deferred])
        ask(wanted, in: lane, [deferred], until: now + Self.halfPatience)
        return false
    }

    /// The limit that leaves no room for another input of the user, for all or in the user's share; nil when there is room.
    private func fullLimit(for user: Handle?, isForCall: Bool) -> CoreLimit? {
        if isForCall, isArchiveFull(for: user) { return .archivedLegs }
        let inputs = limits.lookUps
        let isFull = lookUpCount >= inputs || lookUpShares.count(of: user) >= CoreLimits.share(of: inputs)
        return isFull ? .lookUps : nil
    }

    private func noteWaiting(_ inputs: some Sequence<Deferred>) {
        for input in inputs {
            lookUpCount += 1
            lookUpShares.add(input.size, to: input.user)
        }
    }

    private func noteTaken(_ inputs: some Sequence<Deferred>) {
        for input in inputs {
            lookUpCount -= 1
            lookUpShares.remove(input.size, from: input.user)
        }
    }

    private func ask(
        _ wanted: Wanted, in lane: Lane, _ inputs: [Deferred], attempts: Int = 0, until: Instant,
        isSecondHalf: Bool = false
    ) {
        lookUpsAsked += 1
        if wanted.call != nil { counters.callsLookedUp += 1 }
        counters.usersLookedUp += UInt64(wanted.names.count + wanted.groups.count)
        lanes[lane] = OpenLookUp(
            number: lookUpsAsked, wanted: wanted, settled: settledGeneration, inputs: inputs, attempts: attempts,
            until: until, isSecondHalf: isSecondHalf, deadline: deadlines.add(.lookUp(lane), at: until))
        if let device = inputs.first?.opening { openingDevices[device] = lane }
        laneOfLookUp[lookUpsAsked] = lane
        effects.append(.lookUp(lookUpsAsked, wanted))
    }

    private func deferred(_ work: Deferred.Work) -> Deferred {
        var device: DeviceKey?
        if case .client(let input) = work, let connection = input.sessionConnection {
            device = directory.session(on: connection)?.device.key
        }
        return Deferred(work: work, device: device, verdict: verdict)
    }

    /// Whether the input waits, because earlier ones of its connection or its call do.
    func waits(_ input: ClientInput) -> Bool {
        guard !lanes.isEmpty else { return false }
        let connection = Lane.connection(input.connection)
        if lanes[connection] != nil { return wait(.client(input), in: connection) }
        if case .requested(let connection, _, .owner(.updateDevice)) = input, lanes[.tokens(connection)] != nil {
            return wait(.client(input), in: .tokens(connection))
        }
        guard let call = input.call, lanes[.call(call)] != nil else { return false }
        return wait(.client(input), in: .call(call))
    }

    /// - Returns: true; the input may be put off at once.
    func wait(_ work: Deferred.Work, in lane: Lane) -> Bool {
        let deferred = deferred(work)
        if let limit = fullLimit(for: deferred.user, isForCall: false) {
            counters.hit(limit)
            putOff(deferred)
        } else {
            noteWaiting([deferred])
            lanes[lane]?.inputs.append(deferred)
        }
        return true
    }

    // MARK: Answers

    /// Handles the inputs that wait for the answer; ignores a late one.
    func takeUp(_ found: Found, of number: UInt64) {
        guard let lane = laneOfLookUp[number], let lookUp = lanes[lane] else { return }
        // A user that has changed and left memory meanwhile may have been read as it was before.
        guard lookUp.settled >= latestDeparture else {
            close(lane, lookUp)
            return ask(
                lookUp.wanted, in: lane, lookUp.inputs, attempts: lookUp.attempts, until: lookUp.until,
                isSecondHalf: lookUp.isSecondHalf)
        }
        close(lane, lookUp)
        noteTaken(lookUp.inputs)
        if let stored = found.call, calls[stored.call.id] == nil {
            if let refusal = refusal(of: stored, to: lookUp.inputs) {
                return lookUp.inputs.forEach { turnAway($0, refusal.code, refusal.message) }
            }
            // The one who asked first; for a backend the caller, for whom it acts.
            let user = lookUp.inputs.lazy.compactMap(\.user).first ?? stored.call.caller.user
            // Others that were asked for at the same time may have come first.
            guard !isArchiveFull(for: user) else {
                counters.hit(.archivedLegs)
                return lookUp.inputs.forEach(putOff)
            }
            takeIn(found.entries)
            revive(stored, for: user)
        } else {
            takeIn(found.entries)
        }
        resume(lane, lookUp, absent: found.call == nil ? lookUp.wanted.call : nil)
    }

    private func resume(_ lane: Lane, _ lookUp: OpenLookUp, absent: CallID?) {
        soughtTokens = lookUp.wanted.tokens
        absentCall = absent
        var rest = lookUp.inputs[...]
        answered = lookUp.wanted
        // An input that needs still more waits again, and the others behind it.
        while lanes[lane] == nil, let next = rest.popFirst() {
            verdict = next.verdict
            handle(next)
            answered = nil
            if case .connection(let connection) = lane, connection == turnedAway { rest = [] }
        }
        (verdict, absentCall, answered, turnedAway) = (nil, nil, nil, nil)
        soughtTokens = []
        noteWaiting(rest)
        lanes[lane]?.inputs += rest
    }

    private func handle(_ deferred: Deferred) {
        switch deferred.work {
        case .client(let input):
            guard deferred.device == nil || input.sessionConnection.map({ directory.session(on: $0) != nil }) ?? true
            else { return enterReport(of: deferred) }
            // It may have to wait in another lane.
            take(input)
        case .administered(let request, let command): administer(request, command)
        case .forwarding(let id, let reason, let party):
            if let call = calls[id], call.isUnanswered { endUnanswered(call, reason, by: party) }
        case .ageing(let user): dropTooOld(user)
        }
    }

    /// How often a call to forward is looked up before it ends unanswered: nobody repeats a request for it.
    private static let mostAttempts = 3

    /// The store could not be read.
    func fail(lookUp number: UInt64) {
        guard let lane = laneOfLookUp[number] else { return }
        // The next attempt waits for the deadline.
        if case .forwarding = lane { return }
        giveUp(lane)
    }

    /// The store has not answered in one half of the time.
    func lookUpOverdue(_ lane: Lane) {
        guard var lookUp = lanes[lane], !lookUp.isSecondHalf else { return giveUp(lane) }
        lookUp.until = now + Self.halfPatience
        lookUp.isSecondHalf = true
        schedule(.lookUp(lane), at: lookUp.until, in: &lookUp.deadline)
        lanes[lane] = lookUp
    }

    private func giveUp(_ lane: Lane) {
        guard let lookUp = lanes[lane] else { return }
        close(lane, lookUp)
        if case .forwarding(let call) = lane, calls[call]?.isUnanswered == true,
            lookUp.attempts + 1 < Self.mostAttempts
        {
            return ask(
                lookUp.wanted, in: lane, lookUp.inputs, attempts: lookUp.attempts + 1, until: now + Self.halfPatience)
        }
        noteTaken(lookUp.inputs)
        lookUp.inputs.forEach(putOff)
    }

    /// Drops the requests that wait on a closed connection.
    func forgetLane(of connection: ConnectionID) {
        guard let lookUp = lanes[.connection(connection)] else { return }
        close(.connection(connection), lookUp)
        noteTaken(lookUp.inputs)
        lookUp.inputs.forEach(enterReport)
    }

    /// Closes the connection on which the device has asked for a session before, and still waits: the newest request
    /// counts.
    func dropOpening(of device: DeviceKey, but connection: ConnectionID) {
        guard case .connection(let older) = openingDevices[device], older != connection else { return }
        forgetLane(of: older)
        effects.append(.disconnect(older, .replaced))
    }

    private func close(_ lane: Lane, _ lookUp: OpenLookUp) {
        cancel(lookUp.deadline)
        if let device = lookUp.inputs.first?.opening { openingDevices[device] = nil }
        lanes[lane] = nil
        laneOfLookUp[lookUp.number] = nil
    }

    /// The store has users with a device that was not seen for long.
    func readUnseen(_ users: [Handle]) {
        // A device in memory has a deadline. Requests have priority; the store is read again later.
        for user in users
        where directory.user(user) == nil && lanes[.unseen(user)] == nil && lookUpCount < limits.lookUps / 2 {
            _ = isAtHand(Wanted(names: [user]), for: .ageing(user), in: .unseen(user))
        }
    }

    // MARK: Putting off

    func putOff(_ deferred: Deferred) {
        switch deferred.work {
        case .client(let input):
            let subject = input.call == nil ? "That" : "The call"
            turnAway(
                deferred, .overloaded(retryAfter: .seconds(1)),
                "\(subject) cannot be looked up right now; try again shortly.")
        case .administered(let request, _):
            let refusal = AdminRefusal(.overloaded, "The store cannot be read right now; try again shortly.")
            effects.append(.answer(request, .failure(refusal)))
        case .forwarding(let id, let reason, let party):
            if let call = calls[id], call.isUnanswered { endCall(call, reason, by: party) }
        case .ageing: break
        }
    }

    private func turnAway(_ deferred: Deferred, _ code: SignalError.Code, _ message: String) {
        guard case .client(let input) = deferred.work else { return }
        // Nobody waits on a closed connection.
        if let connection = input.sessionConnection, deferred.device != nil, directory.session(on: connection) == nil {
            return
        }
        if case .notified(_, _, .candidates(let batch)) = input {
            counters.candidatesRefused += UInt64(batch.candidates.count)
            return refuse(input.connection, input.request, SignalError(code, message, call: batch.call))
        }
        // A notification that asks for no reply gets none.
        if case .notified(_, nil, _) = input { return }
        refuse(input.connection, input.request, SignalError(code, message))
    }
}

extension Deferred {
    /// The user who has sent it, or for whom a backend calls; nil for an administrator, another request of a backend, and
    /// the core itself.
    var user: Handle? {
        guard case .client(let input) = work else { return nil }
        switch input {
        case .opened(_, _, _, let grant), .asked(_, _, _, let grant, _), .tokenShown(_, _, let grant, _):
            return grant.user
        case .backend(_, _, .invite(let body), _): return body.from
        case .requested, .notified, .backend: return device?.user
        }
    }

    /// The device whose `session.open` with a user's token this is.
    fileprivate var opening: DeviceKey? {
        guard case .client(.opened(_, _, let open, let grant)) = work, grant.scope == .full else { return nil }
        return DeviceKey(user: grant.user, device: open.device.id)
    }
}

extension ClientInput {
    /// The call that the input is about; nil for `session.open` and requests about no call.
    var call: CallID? {
        switch self {
        case .requested(_, _, .call(let command)), .asked(_, _, let command, _, _): command.call
        case .requested(_, _, .owner(.invite(let invite))): invite.call
        case .notified(_, _, .candidates(let batch)): batch.call
        case .backend(_, _, let command, _): command.call
        case .opened, .requested, .notified, .tokenShown: nil
        }
    }

    /// The connection of an input that needs a session on it; nil for `session.open` and plain HTTP.
    var sessionConnection: ConnectionID? {
        switch self {
        case .requested(let connection, _, _), .notified(let connection, _, _): connection
        case .opened, .asked, .tokenShown, .backend: nil
        }
    }
}
