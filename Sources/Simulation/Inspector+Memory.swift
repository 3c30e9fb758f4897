import CallCore
import CallVocabulary
import RecordModel

/// The upper bound of the core's memory, derived from the records: only what is still needed.
struct MemoryBook {
    enum Hold: Equatable {
        case attached
        case detached(since: Instant)
    }

    /// When an ended call must be released, unless one of its pushes is open.
    private(set) var neededUntil: [CallID: Instant] = [:]
    private(set) var sessions: [SessionID: (key: DeviceKey, hold: Hold)] = [:]
    /// What the core has asked the store, and the end of this half of the store's time.
    private(set) var lookUps: [UInt64: (until: Instant, isSecondHalf: Bool)] = [:]

    /// At a start, the core reloads ended calls with an open push.
    mutating func begin(on disk: Disk, now: Instant, timers: CallTimers) {
        self = MemoryBook()
        for id in disk.openPushes {
            guard let push = disk.pushes[id], push.purpose == .call else { continue }
            let call = push.call
            guard disk.calls[call]?.state == .ended else { continue }
            keep(call, until: now + timers.tombstone)
        }
    }

    mutating func keep(_ call: CallID, until: Instant) {
        if until > neededUntil[call] ?? Instant(milliseconds: 0) { neededUntil[call] = until }
    }

    /// When a lookup failed or got no answer for the last time.
    private(set) var lookUpFailedAt: Instant?
    mutating func lookUpFailed(at now: Instant) { lookUpFailedAt = now }

    mutating func lookUp(_ number: UInt64, at now: Instant) {
        lookUps[number] = (now + CallCore.lookUpPatience / 2, false)
    }
    mutating func lookUpIsOver(_ number: UInt64) { lookUps[number] = nil }

    // MARK: Sessions

    mutating func open(_ session: SessionID, of key: DeviceKey) {
        // A device has one session.
        for (other, entry) in sessions where entry.key == key { sessions[other] = nil }
        sessions[session] = (key, .attached)
    }

    mutating func detach(_ session: SessionID, at now: Instant) { sessions[session]?.hold = .detached(since: now) }

    /// Gives those of the sessions that have no socket another resume window.
    mutating func renew(_ renewed: [SessionID], at now: Instant) {
        for session in renewed where sessions[session].map({ $0.hold != .attached }) == true {
            detach(session, at: now)
        }
    }

    mutating func drop(_ key: DeviceKey) { sessions = sessions.filter { $0.value.key != key } }

    /// Of those that are online the core tells.
    mutating func drop(sessionsOf user: Handle) {
        sessions = sessions.filter { $0.value.key.user != user || $0.value.hold == .attached }
    }

    mutating func close(_ session: SessionID) { sessions[session] = nil }

    var detachedSessions: Int { sessions.values.count { $0.hold != .attached } }

    /// Called once all deadlines up to `now` have passed.
    mutating func prune(_ now: Instant, _ disk: Disk, _ timers: CallTimers) {
        let open = Set(disk.openPushes.compactMap { disk.pushes[$0] }.filter { $0.purpose == .call }.map(\.call))
        neededUntil = neededUntil.filter { $0.value > now || open.contains($0.key) }
        for (number, lookUp) in lookUps where lookUp.until <= now {
            guard lookUp.isSecondHalf else {
                lookUps[number] = (now + CallCore.lookUpPatience / 2, true)
                continue
            }
            lookUpFailed(at: now)
            lookUps[number] = nil
        }
        sessions = sessions.filter { _, entry in
            guard case .detached(let since) = entry.hold else { return true }
            return since + timers.resume > now
        }
    }
}

extension Inspector {
    func checkMemory(_ core: CallCore, _ now: Instant, areDeadlinesDone: Bool) {
        if areDeadlinesDone { memory.prune(now, decided, core.timers) }
        let census = core.census
        let calls = decided.liveCalls + memory.neededUntil.keys
        if census.calls > calls.count, !isSettling {
            violate("\(census.calls) calls in memory, \(calls.count) are needed")
        }
        if census.sessions != memory.sessions.count {
            violate("\(census.sessions) sessions in memory, \(memory.sessions.count) can be resumed or are open")
        }
        if census.lookUps > 0, memory.lookUps.isEmpty { violate("inputs wait for the store, which was not asked") }
        if census.lookUps > core.limits.lookUps { violate("\(census.lookUps) inputs wait for the store") }
        let notices = decided.openPushes.count { decided.pushes[$0]?.purpose != .call }
        if census.notices != notices { violate("\(census.notices) notices in memory, \(notices) are open") }
        if census.idleUsers > core.limits.idleUsers, !isSettling { checkIdle(census, core.limits) }
        if areDeadlinesDone, !isSettling { checkParts(census, of: calls) }
    }

    /// More users than the limit are idle only while rate limits are spent.
    private func checkIdle(_ census: CoreCensus, _ limits: CoreLimits) {
        let since = now + (.zero - .seconds(60))
        // What a request or a forwarded call writes is spent for a second, with a low limit for a minute. The request may
        // have waited.
        let isLow = limits.storedBytesPerUser < CoreLimits().storedBytesPerUser
        let soon = now + (.zero - .seconds(isLow ? 70 : 10))
        if heardAt.map({ $0 > soon }) == true || decided.calls.values.contains(where: { $0.isForwarded(since: soon) }) {
            return
        }
        if !decided.pushes.values.contains(where: { $0.intendedAt > since }) {
            violate("\(census.idleUsers) users are in memory that nothing needs")
        }
    }

    /// Checks that all legs, pushes and deadlines belong to calls in memory.
    private func checkParts(_ census: CoreCensus, of calls: [CallID]) {
        var legs = 0
        var pushes = 0
        var deadlines = calls.count + memory.detachedSessions + decided.devices.keys.count
        if timers.deviceAge != nil { deadlines += decided.devices.values.count }
        for id in calls {
            let parts = decided.legs(of: id)
            legs += parts.count
            pushes += decided.pushes(of: id).count { $0.purpose == .call }
            guard let call = decided.calls[id], call.state.isLive else { continue }
            if call.hunt?.nextAt != nil { deadlines += 1 }
            // With one for the candidates that wait for the caller's share.
            if call.state.isRingingPhase { deadlines += 1 + parts.count { $0.state != .ended } }
        }
        deadlines += decided.openPushes.count { id in
            decided.pushes[id].map { $0.reportDueAt != nil || $0.purpose != .call } ?? false
        }
        // Each question has a deadline, and at least one input that waits.
        deadlines += census.authorizations + memory.lookUps.count
        if census.legs > legs { violate("\(census.legs) legs in memory, \(legs) are needed") }
        if census.pushes > pushes { violate("\(census.pushes) pushes in memory, \(pushes) are needed") }
        if census.deadlines > deadlines { violate("\(census.deadlines) deadlines, \(deadlines) are needed") }
    }
}

extension CallRecord {
    fileprivate func isForwarded(since time: Instant) -> Bool { forwards.last.map { $0.at > time } ?? false }
}
