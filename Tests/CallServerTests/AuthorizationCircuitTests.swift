import CallVocabulary
import SignalProtocol
import Testing

@testable import CallCore
@testable import CallServer

@Suite("Questions to an authorization hook")
struct AuthorizationCircuitTests {
    private func question(
        _ number: UInt64 = 1, by caller: String = "alice", to: String = "bob", custom: String? = nil
    ) -> AuthorizationQuestion {
        AuthorizationQuestion(
            number: number, call: CallID(high: number, low: number),
            caller: Party(user: Handle(caller)!, device: DeviceID(high: 1, low: 1)), to: .user(Handle(to)!),
            video: false, custom: custom.map { RawJSON(bytes: Array($0.utf8)) })  // Literals that are handles.
    }

    /// Literals that are handles.
    private func user(_ name: String) -> Handle { Handle(name)! }

    @Test("stop after five failures in a row of several users, or of lone questions, until one is answered")
    func circuit() {
        let now = Instant(milliseconds: 0)
        for (isLone, names) in [(false, ["u0", "u1", "u2", "u3", "u4"]), (true, Array(repeating: "u0", count: 5))] {
            let users = names.map(user)
            var circuit = AuthorizationCircuit()
            func fail(_ users: some Sequence<Handle>) {
                for user in users { circuit.failed(user, isLone: isLone, at: now) }
            }
            fail(users.prefix(4))
            circuit.succeeded()
            fail(users.prefix(4))
            #expect(!circuit.isOpen && !circuit.holds(users[0], at: now))
            fail(users.suffix(1))
            #expect(circuit.isOpen && circuit.holds(users[0], at: now))
            circuit.succeeded()
            #expect(!circuit.isOpen && !circuit.holds(users[0], at: now))
        }
    }

    @Test("refused with a status are doubted after three users in a row, and after a decision only after twenty")
    func statusRefusals() {
        var refusals = StatusRefusals()
        for _ in 0..<600 { refusals.refused(user("mallory"), status: 403) }
        #expect(refusals.ofAll == nil)
        for name in ["u1", "u2"] { refusals.refused(user(name), status: 403) }
        #expect(refusals.ofAll == 403)
        refusals.decided()
        for index in 0..<19 { refusals.refused(user("u\(index)"), status: 403) }
        #expect(refusals.ofAll == nil)
        refusals.refused(user("u19"), status: 403)
        #expect(refusals.ofAll == 403)
    }

    @Test("refused because nothing is at the URL are doubted after five in a row, of one user too", arguments: [1, 2])
    func absentURL(users: Int) {
        for hasDecided in [false, true] {
            var refusals = StatusRefusals()
            if hasDecided { refusals.decided() }
            func refuse(_ number: Int, status: Int) {
                for index in 0..<number { refusals.refused(user("u\(index % users)"), status: status) }
            }
            refuse(4, status: 404)
            refuse(1, status: 403)
            refuse(4, status: 405)
            #expect(refusals.ofAll == nil)
            refuse(1, status: 410)
            #expect(refusals.ofAll == 410)
            refusals.decided()
            #expect(refusals.ofAll == nil)
        }
    }

    @Test("that fail for another reason than the log has get a line, at most one in ten seconds")
    func reasons() {
        var lines = FailureLines()
        func tells(_ reason: String, at second: Int64, opens: Bool = false) -> Bool {
            lines.tells(reason, of: .invite, opens: opens, at: Instant(milliseconds: second * 1000))
        }
        #expect(tells("refused", at: 0))
        #expect(!tells("refused", at: 20))
        #expect(tells("the status 401", at: 21))
        #expect(!tells("the status 500", at: 30))
        #expect(tells("the status 500", at: 31))
        #expect(tells("the status 500", at: 32, opens: true))
        #expect(!tells("the status 500", at: 60))
        let answered = (first: lines.answered(.invite), second: lines.answered(.invite))
        #expect(answered.first && !answered.second)
        #expect(tells("the status 500", at: 61))
    }

    @Test("that fail five times in a row leave the backend in doubt, whoever asked, until one is answered")
    func inVain() {
        var circuit = AuthorizationCircuit()
        let now = Instant(milliseconds: 0)
        for _ in 0..<4 { circuit.failed(user("alice"), isLone: false, at: now) }
        #expect(circuit.inVain == nil)
        circuit.failed(user("alice"), isLone: false, at: now)
        #expect(circuit.inVain == 5 && !circuit.isOpen)
        circuit.succeeded()
        #expect(circuit.inVain == nil)
    }

    @Test("of one user that fail stop nobody's, however many they are; those of another are answered at once")
    func oneUser() {
        var circuit = AuthorizationCircuit()
        let now = Instant(milliseconds: 0)
        for _ in 0..<600 { circuit.failed(user("mallory"), isLone: false, at: now) }
        #expect(!circuit.isOpen && !circuit.holds(user("alice"), at: now))
        // A few lone failures beside them are not enough, whoever asked.
        for name in ["mallory", "alice", "mallory", "alice"] { circuit.failed(user(name), isLone: true, at: now) }
        #expect(!circuit.isOpen)
        circuit.failed(user("carol"), isLone: false, at: now)
        #expect(circuit.isOpen)
    }

    @Test("of some users that fail hold up nobody else's, who are asked about as ever", arguments: [4, 12, 100, 5000])
    func someUsers(number: Int) {
        var circuit = AuthorizationCircuit()
        let accounts = (0..<number).map { user("mal\($0)") }
        // For six seconds each account asks whenever it may, and none is answered.
        for step in 0..<60 {
            let now = Instant(milliseconds: Int64(step) * 100)
            for account in accounts where !circuit.holds(account, at: now) {
                circuit.asked(account, at: now)
                circuit.failed(account, isLone: false, at: now)
            }
            #expect(circuit.isOpen == (step >= 1 || number >= AuthorizationCircuit.failuresToOpen))
            #expect(!circuit.holds(user("alice"), at: now))
        }
        #expect(circuit.isDead == (number >= AuthorizationCircuit.usersUntilDead))
        circuit.succeeded()
        #expect(!circuit.isOpen && !circuit.isDead)
    }

    @Test("of users whom the hook never answers take no place from those whom it answers", arguments: [4, 12, 100])
    func slowUsers(number: Int) {
        var turns = QuestionTurns()
        let accounts = (0..<number).map { user("mal\($0)") }
        var serial: UInt64 = 0
        func ask(_ name: String, at now: Instant) {
            serial += 1
            turns.add(invite(serial, by: name), latest: now + .milliseconds(400), until: now + .milliseconds(800))
        }
        for account in accounts { turns.doubt(account, at: Instant(milliseconds: 0)) }
        var sent: [QuestionTurns.Waiting] = []
        for step in 0..<60 {
            let now = Instant(milliseconds: Int64(step) * 100)
            _ = turns.overdue(at: now)
            for account in accounts { for _ in 0..<8 { ask(account.text, at: now) } }
            let before = sent.count
            while let next = turns.next(at: now) { sent.append(next) }
            // One of each.
            #expect(sent.count <= min(number, QuestionTurns.mostOpen / 2))
            #expect(sent.count - before <= QuestionTurns.mostInFlight / 2)
            // One that is answered at once.
            ask("alice", at: now)
            let next = turns.next(at: now)
            #expect(next?.question.user == user("alice"))
            if let next { turns.ended(next) }
            // Those of eight steps ago are given up.
            if step % 8 == 7 {
                for late in sent {
                    turns.ended(late)
                    turns.doubt(late.question.user, at: now)
                }
                sent = []
            }
        }
    }

    @Test("of users whom the hook answers no more leave the others their turns", arguments: [4, 12, 100])
    func suddenlySlowUsers(number: Int) {
        var turns = QuestionTurns()
        var serial: UInt64 = 0
        func ask(_ name: String, at now: Instant) {
            serial += 1
            turns.add(invite(serial, by: name), latest: now + .milliseconds(400), until: now + .milliseconds(800))
        }
        var begun: [String: Instant] = [:]
        for step in 0..<8 {
            let now = Instant(milliseconds: Int64(step) * 100)
            _ = turns.overdue(at: now)
            for account in 0..<number { for _ in 0..<8 { ask("mal\(account)", at: now) } }
            // One that is answered at once.
            ask("alice\(step)", at: now)
            while let next = turns.next(at: now) {
                guard next.question.user.text.hasPrefix("alice") else { continue }
                begun[next.question.user.text] = now
                turns.ended(next)
            }
            #expect(turns.inFlight <= QuestionTurns.mostOpen)
        }
        // The last one still has time.
        for step in 0..<4 { #expect(begun["alice\(step)"] != nil, "step \(step)") }
        if number < QuestionTurns.mostInFlight { #expect(begun.count == 8) }
    }

    @Test(
        "of users whom an outage failed are answered at once after their first answer, beside others that never are",
        arguments: [1, 3, 12, 100])
    func afterOutage(number: Int) {
        var turns = QuestionTurns()
        var circuit = AuthorizationCircuit()
        let timeout = Duration.seconds(5)
        let accounts = (0..<number).map { user("mal\($0)") }
        let victims = (0..<6).map { user("u\($0)") }
        var serial: UInt64 = 0
        /// Of each user, those that wait or are in flight.
        var pending: [Handle: Int] = [:]
        var silent: [QuestionTurns.Waiting] = []
        var firstAnswers: [Handle: Instant] = [:]
        var answers: [Handle: Int] = [:]
        func ask(_ user: Handle, at now: Instant) {
            serial += 1
            pending[user, default: 0] += 1
            turns.add(invite(serial, by: user.text), latest: now + timeout / 2, until: now + timeout)
        }
        func fail(_ user: Handle, at now: Instant) {
            turns.doubt(user, at: now)
            circuit.failed(user, isLone: false, at: now)
        }
        func answer(_ next: QuestionTurns.Waiting, at now: Instant) {
            let user = next.question.user
            turns.trust(user)
            circuit.succeeded()
            // At once, but for those that were asked before the first answer.
            let first = firstAnswers[user] ?? now
            firstAnswers[user] = first
            answers[user, default: 0] += 1
            #expect(next.latest == now + timeout / 2 || next.latest < first + timeout / 2)
        }
        for step in 0..<600 {
            let now = Instant(milliseconds: Int64(step) * 50)
            // Until the eighth second all fail at once; then the accounts are never answered.
            let isDown = now < Instant(milliseconds: 8000)
            for late in turns.overdue(at: now) {
                pending[late.question.user, default: 0] -= 1
                #expect(firstAnswers[late.question.user] == nil)
            }
            for late in silent where late.end <= now {
                turns.ended(late)
                pending[late.question.user, default: 0] -= 1
                fail(late.question.user, at: now)
            }
            silent.removeAll { $0.end <= now }
            for account in accounts where !circuit.holds(account, at: now) {
                while pending[account, default: 0] < 8 { ask(account, at: now) }
            }
            for victim in victims where step % 10 == 0 {
                let isHeld = circuit.holds(victim, at: now)
                #expect(!isHeld || firstAnswers[victim] == nil)
                if !isHeld { ask(victim, at: now) }
            }
            while let next = turns.next(at: now) {
                let user = next.question.user
                let isHeld = circuit.holds(user, at: now)
                if !isHeld { circuit.asked(user, at: now) }
                guard isHeld || isDown || victims.contains(user) else {
                    silent.append(next)
                    continue
                }
                turns.ended(next)
                pending[user, default: 0] -= 1
                if isHeld { continue }
                if isDown { fail(user, at: now) } else { answer(next, at: now) }
            }
            if !isDown { #expect(turns.inFlight <= number, "one of each account") }
        }
        for victim in victims { #expect(answers[victim, default: 0] >= 40) }
    }

    @Test("in doubt are sent by the time of the last failure, the oldest first, one of each user")
    func turnsOfDoubted() {
        var turns = QuestionTurns()
        func time(_ number: Int) -> Instant { Instant(milliseconds: Int64(number)) }
        let names = (0..<20).map { "u\($0)" }
        for (number, name) in names.enumerated() { turns.doubt(user(name), at: time(20 - number)) }
        for name in names + names { turns.add(invite(1, by: name), latest: time(900), until: time(999)) }
        var sent: [QuestionTurns.Waiting] = []
        func send(at now: Instant) { while let next = turns.next(at: now) { sent.append(next) } }
        send(at: time(20))
        #expect(sent.map(\.question.user) == names.reversed().prefix(QuestionTurns.mostInFlight / 2).map(user))
        #expect(turns.nextDue == time(20) + QuestionTurns.promptness)
        send(at: time(20) + QuestionTurns.promptness)
        #expect(sent.map(\.question.user) == names.reversed().map(user))
        // A quick answer ends the doubt, and the user's next question is the next.
        turns.ended(sent[0])
        turns.trust(sent[0].question.user)
        let next = turns.next(at: time(120))
        #expect(next?.question.user == sent[0].question.user)
    }

    @Test("that wait are not sent later than half of their time, so that they are not taken for unanswered")
    func overdue() {
        var turns = QuestionTurns()
        let now = Instant(milliseconds: 0)
        for number in 0..<40 {
            turns.add(
                invite(UInt64(number), by: "u\(number)"), latest: now + .milliseconds(400),
                until: now + .milliseconds(800))
        }
        while turns.next(at: now) != nil {}
        #expect(turns.inFlight == QuestionTurns.mostInFlight)
        #expect(turns.nextDue == now + QuestionTurns.promptness)
        let early = turns.overdue(at: now + .milliseconds(399))
        #expect(early.isEmpty)
        let late = turns.overdue(at: now + .milliseconds(400))
        #expect(late.map(\.question.user) == (32..<40).map { user("u\($0)") })
        let next = turns.next(at: now)
        #expect(turns.nextDue == nil && next == nil)
    }

    /// An invite of the user.
    private func invite(_ number: UInt64, by caller: String) -> AuthorizationHook.Question {
        .invite(question(number, by: caller))
    }

    @Test("of one user leave room for those of others, who take turns")
    func turns() {
        var turns = QuestionTurns()
        let end = Instant(milliseconds: 800)
        for number in 0..<300 { turns.add(invite(UInt64(number), by: "mallory"), latest: end, until: end) }
        var sent: [QuestionTurns.Waiting] = []
        func send() { while let next = turns.next(at: Instant(milliseconds: 0)) { sent.append(next) } }
        send()
        #expect(sent.count == QuestionTurns.mostInFlight / 2)
        // Of a user who has more, the core allows none that gets no answer.
        #expect(sent.count == AnswerRoom.crowd)
        for name in ["alice", "bob", "carol"] {
            for number in 0..<2 { turns.add(invite(UInt64(number), by: name), latest: end, until: end) }
        }
        send()
        #expect(sent.suffix(6).map(\.question.user) == ["alice", "bob", "carol", "alice", "bob", "carol"].map(user))
        for _ in 0..<7 { turns.ended(sent.removeFirst()) }
        turns.add(invite(2, by: "alice"), latest: end, until: end)
        send()
        // Seven of mallory's had ended.
        #expect(sent.filter { $0.question.user == user("mallory") }.count < QuestionTurns.mostInFlight / 2)
        #expect(sent.filter { $0.question.user == user("alice") }.count == 3)
        #expect(turns.inFlight == sent.count && turns.inFlight < QuestionTurns.mostInFlight)
        while !sent.isEmpty {
            turns.ended(sent.removeFirst())
            send()
            #expect(turns.inFlight == sent.count && turns.inFlight <= QuestionTurns.mostInFlight)
        }
        #expect(turns.inFlight == 0 && turns.inFlight(of: user("mallory")) == 0)
    }

    @Test("of users whose own ones failed probe at growing pauses while the circuit is open")
    func probes() {
        var circuit = AuthorizationCircuit()
        let users = (0..<5).map { user("u\($0)") }
        for user in users { circuit.failed(user, isLone: false, at: Instant(milliseconds: 0)) }
        var probes: [Int] = []
        for second in 0..<60 {
            let now = Instant(milliseconds: Int64(second) * 1000)
            guard !circuit.holds(users[0], at: now) else { continue }
            probes.append(second)
            circuit.asked(users[0], at: now)
            #expect(circuit.holds(users[0], at: now))
            circuit.failed(users[0], isLone: false, at: now)
        }
        #expect(probes == [3, 9, 21, 33, 45, 57])
    }

    @Test("are answered from an answer to an equal question while it counts; the oldest are forgotten")
    func recentAnswers() {
        var recent = RecentAnswers(kept: 2)
        let now = Instant(milliseconds: 0)
        let key = RecentAnswers.key(.invite(question()))
        #expect(key == RecentAnswers.key(.invite(question(2))))
        for other in [question(to: "carol"), question(custom: "1")] {
            #expect(RecentAnswers.key(.invite(other)) != key)
        }
        recent.insert(key, .refused("No."), of: user("alice"), until: now + .seconds(1))
        #expect(recent.find(key, at: now + .milliseconds(999)) == .refused("No."))
        #expect(recent.find(key, at: now + .seconds(1)) == nil)
        for name in ["u1", "u2", "u3", "u4"] {
            let key = RecentAnswers.key(.invite(question(to: name)))
            recent.insert(key, .failed, of: user(name), until: now + .seconds(9))
        }
        #expect(recent.find(key, at: now) == nil)
        #expect(recent.find(RecentAnswers.key(.invite(question(to: "u4"))), at: now) == .failed)
    }

    @Test("of one user displace only that user's answers")
    func answersOfOneUser() {
        var recent = RecentAnswers(kept: 8)
        let now = Instant(milliseconds: 0)
        let key = RecentAnswers.key(.invite(question()))
        recent.insert(key, .refused("No."), of: user("alice"), until: now + .seconds(1))
        for number in 0..<100 {
            let other = RecentAnswers.key(.invite(question(by: "mallory", to: "u\(number)")))
            recent.insert(other, .failed, of: user("mallory"), until: now + .seconds(1))
            #expect(recent.find(other, at: now) == .failed)
        }
        #expect(recent.find(key, at: now) == .refused("No."))
    }

    @Test("with long lists of callees count as several")
    func longAnswers() {
        var recent = RecentAnswers(kept: 100)
        let now = Instant(milliseconds: 0)
        let answer = AuthorizationAnswer.allowed(CallPermit(to: .users((0..<1000).map { user("somebody-\($0)") })))
        let keys = (0..<100).map { RecentAnswers.key(.invite(question(to: "u\($0)"))) }
        for (number, key) in keys.enumerated() {
            for _ in 0..<2 { recent.insert(key, answer, of: user("caller\(number)"), until: now + .seconds(1)) }
        }
        // A list takes about 15 kB.
        let found = keys.count { recent.find($0, at: now) != nil }
        #expect((6...14).contains(found))
    }

    private func session(
        _ number: UInt64 = 1, user: String = "alice", app: String? = nil
    ) -> AuthorizationHook.Question {
        .session(
            ConnectionID(shard: 0, serial: number),
            SessionQuestion(
                number: number, user: Handle(user)!,  // Literals that are handles.
                device: DeviceDescription(id: DeviceID(high: 1, low: 1), platform: .ios, app: app)))
    }

    @Test("about sessions have a body without the connection, their own default reason, and an id for each question")
    func sessions() throws {
        #expect(
            String(decoding: session(app: "phone/1").body(), as: UTF8.self)
                == #"{"type":"session.open","user":"alice","#
                + #""device_id":"00000000-0000-0001-0000-000000000001","platform":"ios","app":"phone/1"}"#)
        let key = RecentAnswers.key(session())
        #expect(key == RecentAnswers.key(session(2)))
        for other in [session(user: "bob"), session(app: "a"), .invite(question())] {
            #expect(RecentAnswers.key(other) != key)
        }
        #expect(session().id != session().id && AuthorizationHook.Question.invite(question()).id.hasSuffix("01"))
        let refusal = try AuthorizationBody.decode(Array(#"{"allow":false}"#.utf8), refusal: session().refusal)
        #expect(refusal.answer == .refused("The session is not allowed."))
    }

    @Test("have a body, and answers that are taken or refused with the member at fault")
    func bodies() throws {
        #expect(
            String(decoding: AuthorizationBody.encode(question(custom: "{\"a\":1}")), as: UTF8.self)
                == #"{"type":"call.invite","call_id":"00000000-0000-0001-0000-000000000001","caller":"alice","#
                + #""device_id":"00000000-0000-0001-0000-000000000001","to":"bob","video":false,"custom":{"a":1}}"#)
        for (text, answer, ttl) in [
            (#"{"allow":true}"#, .allowed(CallPermit()), 0),
            (
                #"{"allow":true,"to":{"group":"desk"},"from_name":"A","ring_ms":5000,"ttl":60,"more":1}"#,
                .allowed(CallPermit(to: .group("desk"), fromName: "A", ringTime: .seconds(5))), 60
            ),
            (#"{"allow":false}"#, .refused("The call is not allowed."), 0),
            (#"{"allow":true,"from_name":" \u200b"}"#, .allowed(CallPermit()), 0),
            (#"{"allow":false,"reason":"No\u0007 credit.","to":5}"#, .refused("No credit."), 0),
            (#"{"allow":false,"reason":" "}"#, .refused("The call is not allowed."), 0),
        ] as [(String, AuthorizationAnswer, Int)] {
            let found = try AuthorizationBody.decode(Array(text.utf8))
            #expect(found.answer == answer && found.lifetime == .seconds(ttl), "\(text)")
        }
        for unit in ["x", "\u{E9}"] {
            let long = String(repeating: unit, count: 20_000)
            let found = try AuthorizationBody.decode(Array(#"{"allow":true,"from_name":"\#(long)"}"#.utf8)).answer
            let kept = String(long.prefix(FrameLimits.name / unit.utf8.count))
            #expect(found == .allowed(CallPermit(fromName: kept)))
        }
        let reason = String(repeating: "x", count: AuthorizationBody.longestReason)
        let refused = try AuthorizationBody.decode(Array(#"{"allow":false,"reason":"\#(reason)"}"#.utf8)).answer
        #expect(refused == .refused(reason))
        for (text, words) in [
            ("", "JSON"), ("[]", "object"), ("{}", "allow"), (#"{"allow":1}"#, "allow"),
            (#"{"allow":true,"to":""}"#, "to"), (#"{"allow":true,"ring_ms":4999}"#, "ring_ms"),
            (#"{"allow":true,"ttl":-1}"#, "ttl"), (#"{"allow":true,"from_name":1}"#, "from_name"),
        ] {
            let error = #expect(throws: SignalError.self) { try AuthorizationBody.decode(Array(text.utf8)) }
            #expect(error?.message.contains(words) == true, "\(text): \(error?.message ?? "")")
        }
    }
}
