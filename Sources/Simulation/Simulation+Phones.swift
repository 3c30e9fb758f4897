import CallCore
import CallVocabulary
import Determinism
import PushVocabulary
import RecordModel

/// The messages that phones get, and their reactions.
extension Simulation {
    func populate() {
        let names = ["alice", "bob", "carol", "dave"]
        for name in names.prefix(draw(2...4)) {
            guard let handle = Handle(name) else { continue }
            handles.append(handle)
            for _ in 0..<draw(1...4) {
                let key = DeviceKey(user: handle, device: DeviceID(random: &random))
                phones.append(Phone(index: phones.count, key: key, tokens: [], tokenIssuedAt: now))
                phones[phones.count - 1].tokens = newTokens()
                phones[phones.count - 1].isSilent = chance(odds.silent)
            }
        }
        for phone in phones {
            schedule(.act(phone: phone.index, .connect(.open)), in: draw(0...3000))
            schedule(.act(phone: phone.index, .anything), in: draw(2000...12_000))
        }
    }

    func newTokens() -> [PushToken] {
        switch draw(0...13) {
        case 0: []
        case 1: [token(.voip, .sandbox)]
        case 2: [token(.voip), token(.voip)]
        case 3: [token(.alert)]
        case 4: [token(.data)]
        case 5: [token(.alert, of: .fcm)]
        case 6, 7, 8, 9, 10, 11: [token(.voip), token(.alert)]
        case 12: [subscription()]
        default: [token(.voip)]
        }
    }

    private func token(
        _ kind: PushKind, _ environment: PushEnvironment = .production, of provider: PushProvider? = nil
    ) -> PushToken {
        PushToken(
            provider: provider ?? (kind == .data ? .fcm : .apns), kind: kind, environment: environment,
            topic: kind == .voip ? "org.example.voip" : "org.example", token: String(random.next(), radix: 16))
    }

    /// A browser's. No message is encrypted here: one key does for all.
    private func subscription() -> PushToken {
        let key = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
        return PushToken(
            provider: .webpush, kind: .data, environment: .production, topic: key,
            token:
                "https://push.example.org/\(String(random.next(), radix: 16))#p256dh=\(key)&auth=BTBZMqHH6r4Tts7J_aSIgg"
        )
    }

    /// Tokens of another user: the same phone now has another user. Prefers a token with a push in flight.
    func othersTokens() -> [PushToken] {
        let waiting = disk.openPushes.compactMap { disk.pushes[$0] }.last { $0.status == .intended }
        let victim = waiting.flatMap { push in phones.first { $0.key == push.device } }
        count("act.theft")
        return (victim ?? pick(phones)).tokens
    }

    // MARK: Coming and going

    func connect(_ phone: Phone, _ how: Act.How) {
        if phone.link != nil { hangUpSocket(phone) }
        guard let link = connect(phone) else {
            return schedule(.act(phone: phone.index, .connect(how)), in: draw(500...4000))
        }
        phone.link = link
        phone.isOpen = false
        var open = SessionOpen(token: "", device: DeviceDescription(id: phone.key.device, platform: .ios))
        var scope = SessionGrant.Scope.full
        switch how {
        case .open:
            if chance(odds.theft) { phone.tokens = othersTokens() }
            open.push = phone.tokens
        case .wake(let call): scope = .call(call)
        case .resume:
            guard let session = phone.session else { return connect(phone, .open) }
            scope = phone.scope
            if chance(odds.stray / 4) {
                // The app's stored number may be older than the last event it saw.
                phone.lastSeq -= UInt64(draw(0...Int(min(phone.lastSeq, 4))))
            }
            open.resume = ResumeRequest(
                session: session.session, token: session.resumeToken,
                lastSeq: phone.lastSeq + (chance(odds.stray / 4) ? 1000 : 0))
        }
        phone.openScope = scope
        let request = nextRequest()
        phone.openRequest = request
        sendUp(.open(request, open, grant(phone, scope)), on: link)
    }

    private func grant(_ phone: Phone, _ scope: SessionGrant.Scope) -> SessionGrant {
        SessionGrant(user: phone.key.user, scope: scope, issuedAt: scope == .full ? phone.tokenIssuedAt : nil)
    }

    func lostSocket(_ phone: Phone, _ link: Int, _ code: CloseCode?) {
        guard phone.link == link else { return }
        phone.link = nil
        phone.isOpen = false
        // After a rejection or its own end, a phone stays away for now; otherwise it reconnects.
        let mayReturn = code?.allowsReconnect ?? true
        guard mayReturn, isHealed || chance(phone.isSilent ? 100 : 850) else { return }
        let how: Act.How = isHealed || chance(200) ? .open : .resume
        schedule(.act(phone: phone.index, .connect(how)), in: draw(50...(chance(150) ? 40_000 : 3000)))
    }

    private func opened(_ opened: SessionOpened, _ phone: Phone) {
        phone.isOpen = true
        phone.scope = phone.openScope
        if !opened.resumed { phone.lastSeq = 0 }
        // After a push woke the phone, the app usually starts fully.
        if phone.scope != .full, isHealed || chance(600) {
            schedule(.act(phone: phone.index, .connect(.open)), in: draw(1000...20_000))
        }
        phone.session = opened
        // A call without a snapshot is over, as far as this session knows.
        for call in phone.calls where !call.isOver && !opened.resumed && !call.isUnconfirmed {
            if case .call(let only) = phone.scope, only != call.id { continue }
            if !opened.calls.contains(where: { $0.call == call.id }) { phone.end(call.id) }
        }
        for snapshot in opened.calls { take(snapshot, phone) }
        let pending = phone.pending
        phone.pending = []
        for item in pending {
            if case .call(let only) = phone.scope, item.command.call != only {
                phone.pending.append(item)
            } else {
                send(item.command, phone)
            }
        }
        for report in phone.reports { send(.report(report), phone) }
        phone.reports = []
    }

    private func take(_ snapshot: CallSnapshot, _ phone: Phone) {
        if phone.call(snapshot.call) == nil {
            phone.calls.append(Phone.Call(id: snapshot.call, role: snapshot.role, state: snapshot.state))
        }
        // A snapshot is the current state, and the only recovery from lost events.
        phone.change(snapshot.call) { call in
            call.state = snapshot.state
            call.push = snapshot.push ?? call.push
        }
        if snapshot.state == .answered || snapshot.state == .connected {
            schedule(.act(phone: phone.index, .media(snapshot.call)), in: draw(50...2000))
        }
    }

    // MARK: Messages

    func receive(_ message: ServerMessage, at phone: Phone) {
        switch message {
        case .welcome: break
        case .reply(let request, .opened(let session)):
            if request == phone.openRequest { opened(session, phone) }
        case .reply(let request, let reply): answered(request, .success(reply), phone)
        case .error(let request, let error):
            guard let request else { return }
            if request == phone.openRequest { return refusedSession(error, phone) }
            answered(request, .failure(error), phone)
        case .event(let seq, let event):
            if seq != phone.lastSeq + 1 { violate("a phone heard event \(seq) after \(phone.lastSeq)") }
            phone.lastSeq = seq
            take(event, phone)
            if !chance(odds.noAck) { notify(.ack(seq: seq), phone) }
        }
    }

    private func refusedSession(_ error: SignalError, _ phone: Phone) {
        hangUpSocket(phone)
        // The token was revoked; the user logs in.
        if error.code == .unauthenticated { phone.tokenIssuedAt = now }
        // The user's other devices are online.
        if case .limitReached = error.code { return }
        guard
            phone.openScope != .full || isHealed || error.code == .unauthenticated
                || error.code == .overloaded(retryAfter: .seconds(5))
        else { return }
        schedule(.act(phone: phone.index, .connect(.open)), in: draw(200...5000))
    }

    private func answered(_ request: RequestID, _ result: Result<Reply, SignalError>, _ phone: Phone) {
        guard let index = phone.pending.firstIndex(where: { $0.request == request }) else { return }
        let command = phone.pending.remove(at: index).command
        guard let id = command.call else { return }
        switch result {
        case .success(let reply): take(reply, to: command, id, phone)
        case .failure(let error): take(error, to: command, id, phone)
        }
    }

    private func take(_ reply: Reply, to command: ClientRequest, _ id: CallID, _ phone: Phone) {
        switch reply {
        case .invited(_, let state, _):
            phone.change(id) { call in
                call.isUnconfirmed = false
                if call.state.rank < state.rank { call.state = state }
            }
        case .inviteEnded: phone.end(id)
        case .won:
            phone.change(id) { if $0.state.rank < CallState.answered.rank { $0.state = .answered } }
            schedule(.act(phone: phone.index, .media(id)), in: draw(50...2500))
        case .callState(.ended, _): phone.end(id)
        case .call(let snapshot): if snapshot.state == .ended { phone.end(id) }
        case .callState, .done, .opened, .backendCall, .calls: break
        }
    }

    private func take(_ error: SignalError, to command: ClientRequest, _ id: CallID, _ phone: Phone) {
        switch error.code {
        case .callEnded, .alreadyAnswered: phone.end(id)
        case .overloaded(let wait):
            // A failed search: the client retries.
            phone.pending.append(Phone.Pending(request: nextRequest(), command: command))
            schedule(.act(phone: phone.index, .retry), in: Int(wait.wholeMilliseconds) + draw(0...1000))
            leaveFormerHome(phone)
        default:
            if case .owner(.invite) = command, phone.call(id)?.isUnconfirmed == true { phone.end(id) }
        }
    }

    private func take(_ event: ServerEvent, _ phone: Phone) {
        switch event {
        case .incoming(let offer):
            if phone.call(offer.call) == nil {
                phone.calls.append(Phone.Call(id: offer.call, role: .callee, state: .ringing, push: offer.push))
            } else {
                phone.change(offer.call) { $0.state = .ringing }
            }
            schedule(.act(phone: phone.index, .ring(offer.call)), in: draw(10...800))
            schedule(.act(phone: phone.index, .decide(offer.call)), in: draw(500...(chance(300) ? 50_000 : 8000)))
        case .state(let change):
            phone.change(change.call) { call in
                call.isUnconfirmed = false
                if call.state.rank < change.state.rank { call.state = change.state }
            }
            if change.state == .answered {
                schedule(.act(phone: phone.index, .media(change.call)), in: draw(50...2500))
            } else if change.state == .connected {
                schedule(.act(phone: phone.index, .hangUp(change.call)), in: draw(1000...40_000))
            }
        case .ended(let end):
            phone.change(end.call) { $0.isUnconfirmed = false }
            phone.end(end.call)
        case .candidates, .update, .peer, .draining: break
        }
    }

    // MARK: Pushes

    /// A push arrived: it wakes the phone, unless a fault prevents it.
    func push(_ intent: PushIntent, to phone: Phone) {
        count("phone.pushed")
        note("phone \(phone.index) is pushed \(Trace.short(intent.id))")
        guard !chance(odds.deaf), isHealed || !phone.isSilent else { return }
        guard intent.delivery?.isReported == true, intent.purpose == .call else { return show(intent, to: phone) }
        let result: ReportResult = chance(850) ? .reported : pick(ReportResult.allCases)
        let report = PushReport(push: intent.id, call: intent.call, result: result)
        let wait = chance(odds.lateReport) ? draw(8000...60_000) : draw(100...6000)
        if !phone.isOpen, phone.link == nil {
            let how: Act.How = chance(odds.wakeOpen) ? .wake(intent.call) : chance(300) ? .resume : .open
            schedule(.act(phone: phone.index, .connect(how)), in: draw(50...3000))
        }
        schedule(.act(phone: phone.index, .report(report, byHTTP: chance(300))), in: wait)
    }

    /// The system shows an alert, or runs the app in the background; sometimes the user opens the app. An app may
    /// report a push that requires no report.
    private func show(_ intent: PushIntent, to phone: Phone) {
        guard phone.link == nil, chance(intent.purpose == .call ? 500 : 150) else { return }
        schedule(.act(phone: phone.index, .connect(.open)), in: draw(1000...20_000))
        guard intent.purpose == .call, chance(300) else { return }
        let report = PushReport(push: intent.id, call: intent.call, result: pick(ReportResult.allCases))
        schedule(.act(phone: phone.index, .report(report, byHTTP: chance(300))), in: draw(1000...10_000))
    }

    // MARK: Sending

    func send(_ command: ClientRequest, _ phone: Phone) {
        let request = nextRequest()
        phone.pending.append(Phone.Pending(request: request, command: command))
        guard phone.isOpen, let link = phone.link else { return }
        sendUp(.request(request, command), on: link)
    }

    func notify(_ notification: ClientNotification, _ phone: Phone) {
        if phone.isOpen, let link = phone.link { sendUp(.notify(notification), on: link) }
    }
}
