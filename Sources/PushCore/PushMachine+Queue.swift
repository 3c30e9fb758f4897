import CallVocabulary
import Determinism
import PushVocabulary

/// The queue: adding, announcing and shedding pushes.
extension PushMachine {
    typealias PushIndex = PushTable<Push>.Slot

    mutating func queue(_ id: PushID, _ terms: PushTerms) {
        guard pushes.slot(of: id) == nil else { return }
        counters.queued += 1
        guard terms.expiresAt > now else { return finishUnqueued(id, .expired, reason: "expired") }
        if isQuiet(past: terms) { return finishUnqueued(id, .quotaExceeded, reason: Self.quotaReason) }
        makeRoom(forCall: terms.isUrgent)
        if isFull { return finishUnqueued(id, .queueFull, reason: "push queue full") }
        if !terms.isUrgent, noticeCount >= policy.noticeCapacity {
            return finishUnqueued(id, .noticeShed, reason: "too many notices wait")
        }
        let index = pushes.insert(Push(terms: terms), for: id)
        pushes[index].deadline = deadlines.add(index, at: terms.expiresAt)
        lineUp(index, isReturned: false)
        count(.waiting, isUrgent: terms.isUrgent, by: 1)
    }

    private mutating func finishUnqueued(_ id: PushID, _ cause: PushCounters.UnsentCause, reason: String) {
        counters.unsent += 1
        counters.unsentByCause[cause, default: 0] += 1
        // One that comes too late, as after a restart, is not the provider's.
        if cause.isOfProvider, cause != .expired { counters.failed += 1 }
        effects.append(.outcome(id, .unsent(reason: reason)))
    }

    /// Queues a push again that was certainly not processed, for as long as it can wait.
    /// - Parameter until: when it may be announced again at the earliest; nil for at once.
    mutating func giveBack(_ index: PushIndex, setback: String? = nil, heldUntil until: Instant? = nil) {
        let id = pushes.id(at: index)
        if let setback { pushes[index].setback = setback }
        let expiresAt = pushes[index].terms.expiresAt
        if pushes[index].deadline == nil { pushes[index].deadline = deadlines.add(index, at: expiresAt) }
        if let until {
            setPhase(index, .held(held.add(index, at: until), isForDevice: false))
            breaker.left(id)
        } else {
            setPhase(index, .waiting)
            lineUp(index, isReturned: true)
        }
        counters.returned += 1
        effects.append(.outcome(id, .returned))
        guard expiresAt > now else { return expire(index) }
        // The probe of the circuit has waited as long as the others.
        if let why = breaker.state.reason, let since = pushes[index].waitsSince, now - since >= policy.circuitPatience {
            return finish(index, .circuitOpen, reason: "circuit open: \(why)")
        }
        if isQuiet(past: pushes[index].terms) { return finish(index, .quotaExceeded, reason: Self.quotaReason) }
        guard queueDepth > policy.queueCapacity else { return }
        makeRoom(forCall: true)
        // `makeRoom` may have removed this push.
        if queueDepth > policy.queueCapacity, let index = pushes.slot(of: id) {
            finish(index, .queueFull, reason: "push queue full")
        }
    }

    private mutating func lineUp(_ index: PushIndex, isReturned: Bool) {
        let line: WaitingLines.Line =
            pushes[index].terms.isUrgent ? (isReturned ? .returned : .calls) : .notices
        if pushes[index].waitsSince == nil { pushes[index].waitsSince = now }
        pushes[index].inLineSince = now
        pushes[index].ticket = lines.append(index, since: now, to: line)
    }

    // MARK: Room

    private var isFull: Bool { queueDepth >= policy.queueCapacity }

    /// Sheds expired pushes, then, for a call, notices: the oldest first, because newer ones replace them.
    private mutating func makeRoom(forCall isForCall: Bool) {
        while isFull || (!isForCall && noticeCount >= policy.noticeCapacity) {
            guard let push = deadlines.popDue(now: now) else { break }
            pushTimedOut(push)
        }
        guard isForCall, noticeCount > 0 else { return }
        while isFull, let entry = lines[.notices].first {
            lines[.notices].removeFirst()
            if isWaiting(entry) { shedNotice(entry.push) }
        }
        // Held notices wait longer than any call rings.
        while isFull, let notice = held.any(where: { !pushes[$0].terms.isUrgent }) {
            shedNotice(notice)
        }
    }

    private mutating func shedNotice(_ index: PushIndex) {
        finish(index, .noticeShed, reason: "push queue full: calls go before notices")
    }

    // MARK: The lines

    /// Whether an entry is the current place of its push in the queue. Inlined, like all checks made for every push: a
    /// call would copy the machine and retain each of its arrays.
    @inline(__always) func isWaiting(_ entry: WaitingLines.Entry) -> Bool {
        // A free slot has the ticket 0, which no entry has.
        guard pushes[entry.push].ticket == entry.ticket, case .waiting = pushes[entry.push].phase else { return false }
        return true
    }

    /// Announces waiting pushes while there are free streams; starts a connection or a token if one is missing.
    mutating func pump() {
        guard waitingCount > 0 else { return }
        if !breaker.isClosed { attendCircuit() }
        if mayAnnounce { announceAll() }
        tidy(.returned)
        tidy(.calls)
        tidy(.notices)
    }

    private mutating func announceAll() {
        if let due = providerToken.startSigningIfDue(now: now) {
            effects.append(.signProviderToken(generation: due.generation, issuedAt: due.issuedAt))
        }
        if let until = quietUntil, until <= now { quietUntil = nil }
        // Without a free stream none is announced, but pushes to throttled devices may still be set aside.
        let isWorthLooking = (!throttle.isEmpty || hasFreeStream) && providerToken.usable(now: now) != nil
        if quietUntil != nil {
            if isQuotaProbed { announceQuotaProbes(isWorthLooking: isWorthLooking) }
        } else if isWorthLooking {
            if let probe = waitingProbe {
                // Its entry in the queue is skipped later.
                _ = announce(probe)
            } else {
                announceReturned()
                announceInOrder(.calls)
                announceInOrder(.notices)
            }
        }
        if wantsConnection, now >= opensFrom { openConnection() }
    }

    /// Announces one push to a user without a throttled device, for each kind of users whose turn it is. A turn ends
    /// without a push too, so that the next deadline is in the future.
    private mutating func announceQuotaProbes(isWorthLooking: Bool) {
        for users in QuotaProbes.Users.allCases where quotaProbes.isDue(users, now: now) {
            let isNewest = quotaProbes.isOfNewest(users)
            let probe =
                isWorthLooking
                ? firstWaiting(isNewest: isNewest) { quotaProbes.users(of: $0) == users && !throttle.knows($0) } : nil
            quotaProbes.endTurn(of: users, hasPush: probe != nil, now: now)
            // Its entry in the queue is skipped later.
            if let probe { _ = announce(probe.push) }
        }
    }

    private mutating func announceInOrder(_ line: WaitingLines.Line) {
        while let next = lines[line].first {
            if isWaiting(next) {
                guard announce(next.push) else { break }
            }
            lines[line].removeFirst()
        }
    }

    /// Removes stale entries: those of pushes that expired or were dropped are otherwise skipped only in their turn,
    /// and collect in a queue that does not move.
    private mutating func tidy(_ line: WaitingLines.Line) {
        guard lines[line].count > 2 * waitingCount + 64 else { return }
        var current = WaitingLines()
        swap(&lines, &current)
        current[line].removeAll { !isWaiting($0) }
        swap(&lines, &current)
    }

    /// Announces returned pushes; one that must avoid a connection does not block those behind it.
    private mutating func announceReturned() {
        guard !lines[.returned].isEmpty, hasFreeStream else { return }
        for _ in 0..<lines[.returned].count {
            guard let next = lines[.returned].first else { break }
            lines[.returned].removeFirst()
            guard isWaiting(next) else { continue }
            if !announce(next.push) { lines[.returned].append(next) }
        }
    }

    /// - Returns: false when there is no stream for the push; true when its entry in the queue is done with.
    private mutating func announce(_ index: PushIndex) -> Bool {
        if !throttle.isEmpty, holdForDevice(index) { return true }
        let avoided = pushes[index].avoided
        guard let slot = slot(avoiding: avoided) ?? slotOfLastResort(avoided) else { return false }
        connections[slot].reserved += 1
        setPhase(index, .announced(connections[slot].id))
        effects.append(.ready(pushes.id(at: index)))
        return true
    }

    // MARK: Held

    /// Sets a push aside whose device is throttled.
    private mutating func holdForDevice(_ index: PushIndex) -> Bool {
        guard let token = pushes[index].terms.token, let until = throttle.heldUntil(token, now: now) else {
            return false
        }
        guard isWorthWaiting(pushes[index].terms, until: until) else {
            let reason = "this device got too many pushes, and is left alone until after the push's time"
            finish(index, .deviceThrottled, reason: reason)
            return true
        }
        guard throttle.held(for: token) < policy.heldPerDevice else {
            finish(index, .deviceThrottled, reason: "too many pushes wait for this device")
            return true
        }
        throttle.hold(token)
        pushes[index].setback = pushes[index].setback ?? "too many pushes to this device"
        setPhase(index, .held(held.add(index, at: until), isForDevice: true))
        breaker.left(pushes.id(at: index))
        return true
    }

    /// Queues held pushes again whose backoff is over.
    mutating func releaseHeld() {
        // Each entry belongs to a push: both are removed together.
        while let index = held.popDue(now: now) {
            setPhase(index, .waiting)
            if isQuiet(past: pushes[index].terms) {
                finish(index, .quotaExceeded, reason: Self.quotaReason)
            } else {
                lineUp(index, isReturned: true)
            }
        }
    }

    // MARK: The circuit

    /// Whether pushes may be announced: all of them, or only the circuit's waiting probe.
    var mayAnnounce: Bool { breaker.isClosed || waitingProbe != nil }

    private var waitingProbe: PushIndex? {
        guard let probe = breaker.state.probe, let index = pushes.slot(of: probe), case .waiting = pushes[index].phase
        else { return nil }
        return index
    }

    /// When the open circuit needs attention: the end of a waiting push's patience, or the time for a probe. nil while
    /// the circuit is closed.
    var circuitDeadline: Instant? {
        guard !breaker.isClosed else { return nil }
        let patience = longestWaitOnCircuit.map { $0 + policy.circuitPatience }
        guard case .open(let until, _) = breaker.state else { return patience }
        return patience.map { min($0, until) } ?? until
    }

    /// Since when the longest waiting push, except the probe, waits for the circuit.
    private var longestWaitOnCircuit: Instant? {
        let probe = breaker.state.probe
        return lines.oldest { isWaiting($0) && pushes.id(at: $0.push) != probe }.map { max($0, breaker.openSince) }
    }

    /// Finishes pushes that have waited too long for the circuit, so that the caller is told; starts a probe as soon as
    /// one is due.
    private mutating func attendCircuit() {
        if let since = longestWaitOnCircuit, since + policy.circuitPatience <= now, let why = breaker.state.reason {
            let probe = breaker.state.probe
            let (openSince, patience, now) = (breaker.openSince, policy.circuitPatience, now)
            finishWaiting(.circuitOpen, reason: "circuit open: \(why)") { entry, id, _ in
                id != probe && max(entry.since, openSince) + patience <= now
            }
        }
        guard case .open(let until, _) = breaker.state, until <= now else { return }
        if let entry = firstWaiting(where: { _ in true }) { breaker.probe(with: pushes.id(at: entry.push), now: now) }
    }

    /// - Parameter isNewest: whether the newest of a line is wanted, of new calls first, rather than the oldest.
    private func firstWaiting(
        isNewest: Bool = false, where isWanted: (PushTerms) -> Bool
    ) -> WaitingLines.Entry? {
        let order: [WaitingLines.Line] = isNewest ? [.calls, .returned, .notices] : WaitingLines.Line.allCases
        for line in order {
            let found =
                isNewest
                ? lines[line].last { isWaiting($0) && isWanted(pushes[$0.push].terms) }
                : lines[line].first { isWaiting($0) && isWanted(pushes[$0.push].terms) }
            if let found { return found }
        }
        return nil
    }

    /// Finishes the queued pushes for which `isOver` is true.
    mutating func finishWaiting(
        _ cause: PushCounters.UnsentCause, reason: String,
        where isOver: (WaitingLines.Entry, PushID, PushTerms) -> Bool = { _, _, _ in true }
    ) {
        for line in WaitingLines.Line.allCases {
            for _ in 0..<lines[line].count {
                guard let entry = lines[line].first else { break }
                lines[line].removeFirst()
                guard isWaiting(entry) else { continue }
                if isOver(entry, pushes.id(at: entry.push), pushes[entry.push].terms) {
                    finish(entry.push, cause, reason: reason)
                } else {
                    lines[line].append(entry)
                }
            }
        }
    }
}
