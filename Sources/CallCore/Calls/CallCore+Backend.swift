import CallVocabulary
import Determinism

/// Requests of backends: calls whose caller has no session.
///
/// The caller is a device that is never away. It hears of its call by following it; candidates for it wait with the
/// call. The caller's party has no device id, which tells such a call from others after a restart, too.
extension CallCore {
    func perform(
        _ command: BackendRequest, _ scope: BackendScope, _ connection: ConnectionID, _ request: RequestID
    ) {
        let id = command.call
        if case .unfollow = command { return followers.remove(connection, of: id) }
        guard let call = calls[id] else {
            let work = Deferred.Work.client(.backend(connection, request, command, scope))
            if mayBeStored(id) {
                _ = isAtHand(Wanted(call: id), for: work, in: .call(id))
                return
            }
            guard case .invite(let body) = command else {
                return refuse(connection, request, .notFound, Self.noSuchCall)
            }
            guard scope.includes(body.from) else { return refuseCaller(connection, request) }
            var wanted = wanted(body.from)
            wanted.merge(self.wanted(for: body.invite))
            guard isAtHand(wanted, for: work, in: .call(id)) else { return }
            return place(body, connection, request)
        }
        let caller = if case .invite(let body) = command { body.from } else { call.caller.user }
        guard scope.includes(caller) else { return refuseCaller(connection, request) }
        switch command {
        case .invite(let body):
            guard call.isFromBackend, call.caller.user == body.from, call.inviteDigest == body.digest else {
                return refuse(
                    connection, request, .conflict, "This call_id names another call, or one with another body.")
            }
            replyInvited(call, connection, request)
        case .get: reply(connection, request, .backendCall(backendView(of: call)))
        case .follow(_, let version): follow(call, after: version, connection, request)
        case .unfollow: break
        case .connected: act(.connected(id), on: call, connection, request)
        case .hangup(_, let reason): act(.hangup(id, reason), on: call, connection, request)
        }
    }

    private static let noSuchCall = "There is no such call."

    private func refuseCaller(_ connection: ConnectionID, _ request: RequestID) {
        refuse(connection, request, .forbidden, "This token does not act for the caller of this call.")
    }

    private func act(_ command: CallRequest, on call: Call, _ connection: ConnectionID, _ request: RequestID) {
        guard call.isFromBackend else {
            return refuse(
                connection, request, .conflict, "A device placed this call; an administrator can end it.")
        }
        perform(command, call, .caller, connection, request)
    }

    private func place(_ body: BackendInvite, _ connection: ConnectionID, _ request: RequestID) {
        let (invite, caller) = (body.invite, body.from)
        guard !directory.isAlias(caller) else {
            return refuse(
                connection, request, .conflict,
                "\(caller) is an alias of \(directory.resolve(caller)); call from that user.")
        }
        guard hasValidRingTime(invite, connection, request) else { return }
        let device = backendDevice(of: caller)
        guard mayInvite(invite, device.user, name: body.name, connection, request),
            let callees = callees(of: invite, from: device, name: body.name, connection, request)
        else { return }
        begin(invite, body.digest, callees, device, name: body.name, connection, request)
    }

    /// The caller's side of one call placed by a backend.
    func backendDevice(of caller: Handle) -> Device {
        Device(
            key: DeviceKey(user: caller, device: DeviceID(high: 0, low: 0)), user: directory.known(caller),
            platform: .cli, seenAt: now, isBackend: true)
    }

    // MARK: Following

    private func follow(_ call: Call, after version: UInt64, _ connection: ConnectionID, _ request: RequestID) {
        let view = backendView(of: call)
        // An ended call changes no more.
        guard view.version == version, call.isLive else { return reply(connection, request, .backendCall(view)) }
        followers.add(Followers.Follower(connection: connection, request: request, after: version), of: call.id)
    }

    func noteFollowed(_ call: Call) {
        if followers.noteChange(of: call.id) { hasChangedFollowedCalls = true }
    }

    /// Answers the requests that wait for the calls that this step changed.
    func answerFollowers() {
        hasChangedFollowedCalls = false
        for id in followers.takeChanged() {
            guard let call = calls[id] else { continue }
            let view = backendView(of: call)
            for follower in followers.take(of: id, unless: view.version) {
                reply(follower.connection, follower.request, .backendCall(view))
            }
        }
    }

    private func backendView(of call: Call) -> BackendCall {
        var snapshot = snapshot(of: call, for: .caller)
        var candidates = CandidateBuffer()
        if call.isFromBackend {
            for case .candidates(let batch) in call.callerDevice.heldMedia where batch.call == call.id {
                _ = candidates.append(batch, limits: limits)
            }
        } else {
            snapshot.sdp = nil
        }
        return BackendCall(
            snapshot: snapshot, version: version(of: call, snapshot, candidates), candidates: candidates.candidates,
            candidatesAreFinal: candidates.isFinal)
    }

    /// A digest, the same in every process: no version is stored. Times are left out, because they follow the clock.
    private func version(of call: Call, _ snapshot: CallSnapshot, _ candidates: CandidateBuffer) -> UInt64 {
        var digest = BodyDigest()
        digest.mix("s", snapshot.state.rawValue)
        digest.mix("r", snapshot.reason?.rawValue ?? "")
        digest.mix(UInt64(call.forwards.count))
        digest.mix(snapshot.sdp?.bytes ?? [])
        for candidate in candidates.candidates { digest.mix(candidate.bytes) }
        digest.mix(candidates.isFinal ? 1 : 0)
        digest.mix(snapshot.peerAwaySince == nil ? 0 : 1)
        return digest.value
    }
}

extension BackendInvite {
    /// A digest of the body, without the caller.
    fileprivate var digest: UInt64 {
        var digest = BodyDigest()
        digest.mix(invite.digest)
        digest.mix("n", name ?? "")
        return digest.value
    }
}

/// Requests that wait until a call changes. Their number is bounded where they arrive, with a share for each token.
struct Followers {
    struct Follower {
        let connection: ConnectionID
        let request: RequestID
        /// The version that the backend knows.
        let after: UInt64
    }

    private var waiting: [CallID: [Follower]] = [:]
    private(set) var count = 0
    /// Followed calls that the present step has changed.
    private var changed: [CallID] = []

    mutating func add(_ follower: Follower, of call: CallID) {
        count += 1
        waiting[call, default: []].append(follower)
    }

    mutating func remove(_ connection: ConnectionID, of call: CallID) {
        guard let index = waiting[call]?.firstIndex(where: { $0.connection == connection }) else { return }
        count -= 1
        waiting[call]?.remove(at: index)
        if waiting[call]?.isEmpty == true { waiting[call] = nil }
    }

    /// - Returns: whether requests wait for the call.
    mutating func noteChange(of call: CallID) -> Bool {
        guard waiting[call] != nil else { return false }
        // Most steps change one call, some of them often.
        if changed.last != call { changed.append(call) }
        return true
    }

    mutating func takeChanged() -> [CallID] {
        defer { changed = [] }
        return changed
    }

    /// Removes the requests that know another version.
    mutating func take(of call: CallID, unless version: UInt64) -> [Follower] {
        guard let followers = waiting[call] else { return [] }
        let told = followers.filter { $0.after != version }
        let rest = followers.filter { $0.after == version }
        count -= told.count
        waiting[call] = rest.isEmpty ? nil : rest
        return told
    }
}
