import CallCore
import CallVocabulary
import RecordModel

/// Actions of phone owners, and faults around them.
extension Simulation {
    func perform(_ act: Act, _ phone: Phone) {
        switch act {
        case .anything: doAnything(phone)
        case .connect(let how):
            // The phone may have been woken meanwhile, or be connecting.
            if phone.link == nil || phone.openScope != .full || chance(50) { connect(phone, how) }
        case .ring(let id):
            guard let call = phone.call(id), call.state.isRingingPhase, phone.isOpen else { return }
            if !chance(odds.deaf) { send(.ringing(id), phone) }
        case .decide(let id): decide(id, phone)
        case .media(let id):
            guard let call = phone.call(id), !call.isOver, phone.isOpen, !chance(odds.noMedia) else { return }
            send(.connected(id), phone)
            if chance(odds.updates) { send(.update(CallUpdate(call: id, kind: pick(CallUpdate.Kind.allCases))), phone) }
            if isHealed || chance(900) {
                schedule(.act(phone: phone.index, .hangUp(id)), in: draw(1000...40_000))
            }
        case .hangUp(let id):
            guard let call = phone.call(id), !call.isOver, phone.isOpen else { return }
            send(.hangup(id, chance(800) ? .hangup : pick(HangupReason.allCases)), phone)
        case .report(let report, let byHTTP): self.report(report, byHTTP, phone)
        case .native(let id): actByHTTP(id, phone)
        case .retry:
            let pending = phone.pending
            phone.pending = []
            for item in pending { send(item.command, phone) }
        }
    }

    private func report(_ report: PushReport, _ byHTTP: Bool, _ phone: Phone) {
        if byHTTP {
            ask(.report(report), SessionGrant(user: phone.key.user, scope: .call(report.call)), phone.key.device)
            if chance(odds.native) { schedule(.act(phone: phone.index, .native(report.call)), in: draw(100...8000)) }
        } else if phone.isOpen {
            if case .call(let only) = phone.scope, only != report.call { return }
            send(.report(report), phone)
        } else {
            phone.reports.append(report)
        }
    }

    private func actByHTTP(_ id: CallID, _ phone: Phone) {
        let command: CallRequest =
            switch draw(0...9) {
            case 0...4: .answer(id, sdp: nil)
            case 5, 6: .decline(id, pick(DeclineReason.allCases))
            case 7: .hangup(id, .hangup)
            default: .ringing(id)
            }
        ask(command, SessionGrant(user: phone.key.user, scope: .call(id)), phone.key.device)
        guard phone.link == nil else { return }
        schedule(.act(phone: phone.index, .connect(chance(500) ? .wake(id) : .open)), in: draw(50...5000))
    }

    private func decide(_ id: CallID, _ phone: Phone) {
        guard let call = phone.call(id), call.state.isRingingPhase, call.role == .callee, phone.isOpen else { return }
        switch draw(0...9) {
        case 0...4: send(.answer(id, sdp: chance(500) ? RawJSON("\"answer\"") : nil), phone)
        case 5, 6: send(.decline(id, pick(DeclineReason.allCases)), phone)
        case 7: send(.hangup(id, .hangup), phone)
        default: break
        }
    }

    // MARK: Of their own accord

    private func doAnything(_ phone: Phone) {
        guard !isHealed else { return }
        schedule(.act(phone: phone.index, .anything), in: draw(500...15_000))
        guard phone.isOpen, phone.link != nil else {
            if phone.link == nil, chance(phone.isSilent ? 20 : 400) { connect(phone, chance(500) ? .resume : .open) }
            if chance(odds.stray) { strayQuestion(phone) }
            return
        }
        if chance(odds.stray) { return stray(phone) }
        if chance(odds.glare), let call = phone.calls.last(where: { !$0.isOver && $0.role == .callee }),
            invites.contains(where: { $0.call == call.id })
        {
            return callBack(call.id, phone)
        }
        switch draw(0...19) {
        case 0: if chance(300) { leave(phone) }
        case 1, 2: if chance(odds.cut * 2) { links[phone.link ?? 0].isClientOpen ? breakDown(phone.link ?? 0) : () }
        case 3: if chance(odds.background * 3) { send(.state(chance(700) ? .background : .foreground), phone) }
        case 4: changeTokens(phone)
        case 5: hangUpSocket(phone)
        case 6: sendCandidates(phone)
        default: invite(phone)
        }
    }

    private func leave(_ phone: Phone) {
        guard phone.scope == .full else { return send(.close, phone) }
        send(chance(500) ? .close : .logout, phone)
    }

    private func changeTokens(_ phone: Phone) {
        guard phone.scope == .full, chance(300) else { return }
        switch draw(0...5) {
        case 0: phone.tokens = []
        case 1: phone.tokens = othersTokens()
        default: phone.tokens = newTokens()
        }
        send(.updateDevice(push: phone.tokens), phone)
    }

    private func sendCandidates(_ phone: Phone) {
        guard let call = phone.calls.last(where: { !$0.isOver }) else { return }
        let batch = CallCandidates(call: call.id, candidates: [candidate(), candidate()], isFinal: chance(200))
        notify(.candidates(batch), phone)
    }

    private func candidate() -> RawJSON {
        serial += 1
        return RawJSON("\"c\(serial)\"")
    }

    private func invite(_ phone: Phone) {
        guard phone.scope == .full, disk.liveCalls.count < 5 else { return }
        if chance(odds.reuse), !invites.isEmpty { return inviteAgain(phone) }
        var invite = Invite(call: CallID(random: &random), to: target())
        if chance(500) { invite.ringTime = .seconds(draw(5...20)) }
        if chance(100) { invite.maxDuration = .seconds(draw(1...20)) }
        if chance(400) { invite.sdp = RawJSON("\"offer\"") }
        if chance(200) { invite.custom = RawJSON("{\"k\":1}") }
        place(invite, phone)
    }

    private func callBack(_ id: CallID, _ phone: Phone) {
        guard phone.scope == .full, let caller = disk.calls[id]?.caller.user else { return }
        place(Invite(call: CallID(random: &random), to: .user(caller)), phone)
    }

    private func place(_ invite: Invite, _ phone: Phone) {
        invites.append(invite)
        phone.calls.append(
            Phone.Call(id: invite.call, role: .caller, state: .routing, isUnconfirmed: true))
        send(.invite(invite), phone)
        if chance(odds.impatience) { schedule(.act(phone: phone.index, .hangUp(invite.call)), in: draw(300...15_000)) }
        // Both call each other at once: the most common glare.
        guard chance(odds.glare), case .user(let callee) = invite.to,
            let other = phones.first(where: { $0.key.user == callee && $0.isOpen && $0.scope == .full }),
            other !== phone
        else { return }
        let back = Invite(call: CallID(random: &random), to: .user(phone.key.user))
        invites.append(back)
        other.calls.append(Phone.Call(id: back.call, role: .caller, state: .routing, isUnconfirmed: true))
        send(.invite(back), other)
    }

    func target() -> CallTarget {
        switch draw(0...19) {
        case 0: return .user(Handle("nobody") ?? handles[0])
        case 1, 2: return .user(Handle("+81312345678") ?? handles[0])
        case 3, 4: return .users([pick(handles), pick(handles), Handle("later") ?? handles[0]])
        case 5, 6: return .group("team")
        case 7, 8: return .group("desk")
        case 9: return .group("gone")
        default: return .user(pick(handles))
        }
    }

    /// Reuses an id: by its owner or another user, with the same body or a different one.
    private func inviteAgain(_ phone: Phone) {
        var invite = chance(600) ? pick(Array(invites.suffix(6))) : pick(invites)
        if chance(300) { invite.video.toggle() }
        count("act.reuse")
        send(.invite(invite), phone)
    }

    // MARK: Strays

    /// A command for a random call: late, early or without a part in the call.
    private func stray(_ phone: Phone) {
        guard let id = someCall() else { return }
        let leg = disk.leg(id, phone.key)
        let report = PushReport(
            push: leg?.push ?? PushID(random: &random), call: id, result: pick(ReportResult.allCases))
        switch draw(0...10) {
        case 0: send(.ringing(id), phone)
        case 1: send(.answer(id, sdp: nil), phone)
        case 2: send(.decline(id, pick(DeclineReason.allCases)), phone)
        case 3: send(.connected(id), phone)
        case 4: if chance(300) { send(.hangup(id, .hangup), phone) }
        case 5: send(.update(CallUpdate(call: id, kind: .hold)), phone)
        case 6: send(.report(report), phone)
        case 7: send(.clearMissed(upTo: now), phone)
        case 9: send(.list(after: nil, limit: 20), phone)
        case 8: notify(.ack(seq: UInt64(draw(0...20))), phone)
        default: send(.get(id), phone)
        }
    }

    private func strayQuestion(_ phone: Phone) {
        guard let id = someCall() else { return }
        switch draw(0...3) {
        case 0:
            ask(
                .get(id), SessionGrant(user: phone.key.user, issuedAt: phone.tokenIssuedAt),
                chance(500) ? phone.key.device : nil)
        case 1: ask(.get(id), SessionGrant(user: phone.key.user, scope: .call(id)), phone.key.device)
        case 2: actByHTTP(id, phone)
        default: if phone.link == nil { connect(phone, .wake(id)) }
        }
    }

    /// A random call, mostly a recent one.
    private func someCall() -> CallID? {
        let ids = disk.calls.keys
        guard !ids.isEmpty else { return nil }
        return chance(50) ? CallID(random: &random) : chance(700) ? pick(Array(ids.suffix(4))) : pick(ids)
    }

    // MARK: Trouble

    /// A fault now and then, according to the odds.
    func makeTrouble() {
        guard !isHealed else { return }
        schedule(.trouble, in: draw(200...3000))
        if realm != nil {
            troubleRealm()
        } else {
            if let process {
                if chance(odds.crash) { return crash() }
                if chance(odds.stop) { stop(process) }
            }
            if chance(odds.drain) { drain() }
            if chance(odds.clockJump) { jump() }
        }
        if chance(odds.cut), let link = links.indices.last(where: { links[$0].isClientOpen && links[$0].phone != nil })
        {
            breakDown(link)
        }
        if chance(odds.admin) { administerSomething() }
        if chance(odds.backend) { actAsBackend() }
        troubleProvider()
    }

    /// The machine was suspended: nothing ran, and the time is later.
    private func jump() {
        count("clock.jump")
        wallOffset += Int64(draw(1000...90_000))
        if let process {
            process.coreTimer = process.coreTimer.map { _ in time }
            process.pushTimer = process.pushTimer.map { _ in time }
        }
    }
}

extension RawJSON {
    init(_ text: String) { self.init(bytes: Array(text.utf8)) }
}
