import CallVocabulary
import Determinism
import PushVocabulary

/// Pushes about a missed call to a user without a session, if the user's policy asks for them.
extension CallCore {
    /// Call it once the call is recorded as missed.
    func giveNotice(of call: Call, to user: User) {
        guard let purpose = user.noticePurpose else { return }
        let content = Notice.Content(from: call.caller.user, fromName: call.callerName, video: call.video)
        // No more wait of one caller than the largest call makes: the push client has room for a few thousand.
        let share = min(CoreLimits.share(of: limits.notices), limits.pushesPerCaller)
        var isFirst = true
        for device in user.devices where !device.isTold(purpose, of: call.id) {
            guard let token = device.token(for: purpose, at: now) else { continue }
            guard mayPush(device, purpose, by: call.callerDevice.user, asFirst: isFirst) else { continue }
            isFirst = false
            guard notices.count < limits.notices, noticeShares.count(of: content.from) < share else {
                counters.hit(.notices)
                counters.noticesDropped += 1
                continue
            }
            guard makeRoom(on: device, for: content.from) else {
                counters.noticesDropped += 1
                continue
            }
            let record = PushRecord(
                id: makePushID(), purpose: purpose, call: call.id, device: device.key, token: token, intendedAt: now,
                expiresAt: now + timers.notice)
            // A newer sync tells the app everything that an older one would have.
            for older in device.notices where purpose == .sync && older.record.purpose == .sync {
                withdraw(older, reason: "a newer one takes its place")
            }
            let notice = Notice(record, to: device, content)
            hold(notice)
            counters.noticesIntended += 1
            persist(.push(record))
            line(notice)
        }
    }

    /// Whether the device may be pushed about this call. The call is recorded as missed in any case. Alerts count for the
    /// device and, one for each call, for the pair of caller and callee, which leaves some of the device's for others. All
    /// of them count for the caller.
    /// - Parameter isFirst: whether no other device of the user is pushed about this call.
    private func mayPush(_ device: Device, _ purpose: PushPurpose, by caller: User, asFirst isFirst: Bool) -> Bool {
        let (ofDevice, ofCaller, window) = (limits.pushesPerDevice, limits.pushesPerCaller, timers.pushWindow)
        let (callee, ofPair) = (device.key.user, limits.pushingCallsPerPair)
        let isAlert = purpose == .missedCall
        var full: CoreLimit?
        if isAlert, device.noticeBound.nextAllowed(at: now, ofDevice, in: window) != nil { full = .pushesPerDevice }
        if isAlert, isFirst, caller.noticePairBounds.nextAllowed(callee, at: now, ofPair, in: window) != nil {
            full = .pushingCallsPerPair
        }
        if caller.noticeBound.nextAllowed(at: now, ofCaller, in: window) != nil { full = .pushesPerCaller }
        if let full {
            counters.hit(full)
            counters.noticesDropped += 1
            return false
        }
        if isAlert { device.noticeBound.spend(at: now, ofDevice, in: window) }
        if isAlert, isFirst { caller.noticePairBounds.spend(callee, at: now, ofPair, in: window) }
        caller.noticeBound.spend(at: now, ofCaller, in: window)
        return true
    }

    /// Withdraws the oldest notices until there is room for one more: those of the same caller, if they are half of all, so
    /// that a caller who calls again and again displaces no other.
    /// - Returns: false when all of them have been sent, and none can be withdrawn.
    private func makeRoom(on device: Device, for caller: Handle) -> Bool {
        while device.notices.count >= limits.noticesPerDevice {
            counters.hit(.noticesPerDevice)
            let own = device.notices.filter { $0.content.from == caller }
            let candidates = 2 * own.count >= limits.noticesPerDevice ? own : device.notices
            guard let oldest = candidates.first(where: { $0.record.status == .intended }) else { return false }
            withdraw(oldest, reason: "newer ones take its place")
        }
        return true
    }

    private func hold(_ notice: Notice) {
        notices[notice.id] = notice
        noticeShares.add(to: notice.content.from)
        notice.device.notices.append(notice)
        directory.hold(notice.device.user)
        ledger.add(status: notice.record.status, report: notice.record.report)
    }

    /// Queues the notice, or defers it until the budget allows it.
    private func line(_ notice: Notice) {
        let device = notice.device
        var due = notice.record.expiresAt
        if notice.record.purpose == .sync,
            let allowed = device.backgroundBudget.nextAllowed(at: now, limits, timers)
        {
            due = min(due, allowed)
        } else {
            notice.custody = .queued
            effects.append(.queuePush(notice.order(missedCount: device.user.missed.count)))
        }
        schedule(.notice(notice), at: due, in: &notice.deadline)
    }

    func noticeDue(_ notice: Notice) {
        if now < notice.record.expiresAt { return line(notice) }
        withdraw(notice, reason: "its time is over")
    }

    /// The push client can send the notice: checks that it is still wanted, then commits it as sent.
    func decide(_ notice: Notice) {
        guard notice.record.status == .intended else {
            if notice.record.status != .sent { effects.append(.dropPush(notice.id)) }
            return
        }
        guard isWanted(notice) else { return withdraw(notice, reason: "not wanted any more") }
        let device = notice.device
        let purpose = notice.record.purpose
        if purpose == .sync, device.backgroundBudget.nextAllowed(at: now, limits, timers) != nil {
            takeOffQueue(notice)
            return line(notice)
        }
        guard device.mayBeSent(to: notice.record.token, for: purpose, at: now) else { return redirect(notice) }
        if purpose == .sync {
            let user = device.user
            user.backgroundBudgets = user.backgroundBudgets.filter { $1.counts(at: now, timers) }
            device.backgroundBudget.spend(at: now, limits)
        }
        cancel(notice.deadline)
        notice.deadline = nil
        change(notice) { $0.send(at: now) }
        effects.append(.confirmPush(notice.id))
    }

    private func redirect(_ notice: Notice) {
        takeOffQueue(notice)
        guard let token = notice.device.token(for: notice.record.purpose, at: now) else {
            return withdraw(notice, reason: "the device has no token left for it")
        }
        change(notice) { $0.redirect(to: token) }
        line(notice)
    }

    /// The notice is on disk as sent: checks a last time, then has its bytes sent.
    func release(_ notice: Notice) {
        guard notice.record.status == .sent, notice.custody == .committing else { return }
        guard isWanted(notice) else { return withdraw(notice, reason: "not wanted any more") }
        guard notice.device.mayBeSent(to: notice.record.token, for: notice.record.purpose, at: now) else {
            takeBack(notice)
            return redirect(notice)
        }
        notice.release()
        effects.append(.transmitPush(notice.id))
    }

    private func isWanted(_ notice: Notice) -> Bool {
        let record = notice.record
        return !notice.isMoot && !notice.device.isDropped && now < record.expiresAt
            && notice.device.user.noticePurpose == record.purpose
            && !notice.device.isTold(record.purpose, of: record.call)
    }

    /// Records the outcome that the push client reports.
    func settle(_ notice: Notice, _ outcome: PushOutcome) {
        switch (outcome, notice.record.status) {
        case (.unsent(let reason), .intended):
            notice.custody = .none
            withdraw(notice, reason: reason)
        case (.unsent(let reason), .sent):
            takeBack(notice)
            notice.custody = .none
            withdraw(notice, reason: reason)
        case (.returned, .sent):
            takeBack(notice)
            if !isWanted(notice) { withdraw(notice, reason: "not wanted any more") }
        case (.accepted, .sent): finish(notice) { $0.accept(at: now, reportDueAt: now) }
        case (.unknown(let reason), .sent): finish(notice) { $0.loseTrack(reason, at: now, reportDueAt: now) }
        case (.rejected(let reason, let isTokenDead), .sent):
            finish(notice) { $0.reject(reason, at: now) }
            if isTokenDead, !isConfirmed(notice.record.token, of: notice.device, since: notice.record.sentAt) {
                dropToken(notice.record.token, of: notice.device)
            }
        case (_, .intended), (_, .accepted), (_, .rejected), (_, .unknown), (_, .cancelled), (_, .expired):
            // An outcome of a push that is not being sent: it was dropped meanwhile.
            break
        }
    }

    /// Takes back a notice that was certainly not processed: the push client has it queued again.
    private func takeBack(_ notice: Notice) {
        if notice.record.purpose == .sync, let sentAt = notice.record.sentAt {
            notice.device.backgroundBudget.giveBack(sentAt)
        }
        change(notice) { $0.takeBack() }
        schedule(.notice(notice), at: notice.record.expiresAt, in: &notice.deadline)
        // A newer sync may have waited for the budget that is free again.
        for held in notice.device.notices where held.record.status == .intended && held.custody == .none { line(held) }
    }

    private func takeOffQueue(_ notice: Notice) {
        if notice.custody != .none { effects.append(.dropPush(notice.id)) }
        notice.custody = .none
    }

    // MARK: Withdrawing notices

    /// The device has opened a session, which tells it of the missed calls.
    func withdrawNotices(to device: Device) {
        for notice in device.notices where device.isTold(notice.record.purpose, of: notice.record.call) {
            withdraw(notice, reason: "the device has opened a session")
        }
    }

    /// Withdraws what has not left. The outcome of a notice on its way is awaited.
    func withdrawNotices(toDropped device: Device) {
        for notice in device.notices { withdraw(notice, reason: "the device was deleted") }
    }

    /// The user has seen the missed calls up to this time.
    func withdrawNotices(to user: User, upTo: Instant) {
        for device in user.devices {
            for notice in device.notices where notice.record.intendedAt <= upTo {
                withdraw(notice, reason: "the user has seen the missed call")
            }
        }
    }

    /// Withdraws a notice: it is not sent any more, nor again after a retryable failure.
    private func withdraw(_ notice: Notice, reason: String) {
        notice.isMoot = true
        if notice.record.status == .sent, notice.custody == .committing { takeBack(notice) }
        guard notice.record.status == .intended else { return }
        takeOffQueue(notice)
        finish(notice) { $0.cancel($0.unsentStatus(at: now), reason: reason, at: now) }
    }

    /// Applies the last change of a notice, and removes it from memory; the store keeps its record.
    private func finish(_ notice: Notice, _ body: (LedgerLine) -> Void) {
        change(notice, body)
        cancel(notice.deadline)
        notice.deadline = nil
        ledger.remove(status: notice.record.status, report: notice.record.report)
        notices[notice.id] = nil
        noticeShares.remove(from: notice.content.from)
        notice.device.notices.remove(notice)
        directory.release(notice.device.user)
    }

    // MARK: After a restart

    func restoreNotices(of state: RecoveredState) {
        for open in state.notices {
            let key = open.push.device
            let device = device(Party(user: key.user, device: key.device))
            let content = Notice.Content(from: open.from, fromName: open.fromName, video: open.video)
            let notice = Notice(open.push, to: device, content)
            counters.pushesRecovered += 1
            hold(notice)
            if notice.record.status == .sent {
                // The bytes may have been sent: the notice is never sent again.
                finish(notice) { $0.loseTrack("the server stopped before the answer", at: now, reportDueAt: now) }
            } else if isWanted(notice) {
                line(notice)
            } else {
                withdraw(notice, reason: "the server stopped before it was sent")
            }
        }
    }
}

extension User {
    /// The purpose of pushes about missed calls to this user's devices; nil when the policy is off.
    fileprivate var noticePurpose: PushPurpose? {
        switch policy.missedCalls {
        case .off: nil
        case .alert: policy.doNotDisturb ? nil : .missedCall
        case .background: .sync
        }
    }
}

extension Device {
    /// Whether the device has a socket that tells it of this missed call. A session of a wake token is told of its own
    /// call only.
    fileprivate func isTold(_ purpose: PushPurpose, of call: CallID) -> Bool {
        guard let session, session.connection != nil else { return false }
        return purpose == .sync ? session.scope == .full : session.mayAct(on: call)
    }
}
