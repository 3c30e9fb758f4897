import CallVocabulary
import RecordModel
import Testing

@testable import CallCore

@Suite("An invite that a backend authorizes")
struct AuthorizationTests {
    private let world: World
    private let alice: Phone
    private let bob: Phone
    private let carol: Phone

    init() { (world, alice, bob, carol) = Self.scene(AuthorizationPolicy()) }

    private static func scene(
        _ policy: AuthorizationPolicy, limits: CoreLimits = CoreLimits()
    ) -> (World, Phone, Phone, Phone) {
        let world = World(limits: limits, authorization: policy)
        return (world, world.online("alice"), world.online("bob"), world.online("carol"))
    }

    private func invite(_ call: CallID, to phone: Phone? = nil, video: Bool = false) -> ClientRequest {
        .invite(Invite(call: call, to: .user((phone ?? bob).user), video: video))
    }

    /// Invites, and returns the question.
    private func ask(_ call: CallID) throws -> AuthorizationQuestion {
        alice.send(invite(call))
        return try #require(world.questions.last)
    }

    private func answer(_ question: AuthorizationQuestion, _ answer: AuthorizationAnswer) {
        world.step(.authorized(question.call, number: question.number, answer))
    }

    @Test("is not acknowledged, stored or offered before the answer; then it is like any other")
    func allowed() throws {
        let call = world.newCall()
        let custom = RawJSON("{\"a\":1}")
        alice.send(.invite(Invite(call: call, to: .user(bob.user), video: true, custom: custom)))
        let question = try #require(world.questions.first)
        #expect(
            question
                == AuthorizationQuestion(
                    number: question.number, call: call, caller: alice.party, to: .user(bob.user), video: true,
                    custom: custom))
        #expect(alice.unanswered == 1 && world.store.calls[call] == nil && bob.offers(of: call).isEmpty)
        #expect(world.core.census.authorizations == 1)
        answer(question, .allowed(CallPermit()))
        #expect(alice.unanswered == 0 && bob.offers(of: call).count == 1)
        #expect(bob.offers(of: call).first?.to == .user(bob.user))
        #expect(bob.answer(call).reply == .won)
        #expect(world.core.census.authorizations == 0 && world.questions.count == 1)
    }

    @Test("rings whom the answer names, under its name and for its time; the invite may be repeated as it was")
    func changed() throws {
        let call = world.newCall()
        let question = try ask(call)
        answer(
            question,
            .allowed(CallPermit(to: .user(carol.user), fromName: "Alice & Co", ringTime: .seconds(10))))
        #expect(bob.offers(of: call).isEmpty)
        let offer = try #require(carol.offers(of: call).first)
        #expect(offer.fromName == "Alice & Co" && offer.expiresAt == world.now + .seconds(10))
        #expect(offer.to == .user(carol.user))
        #expect(alice.ask(invite(call)).reply == .invited(call, .routing, expiresAt: offer.expiresAt))
        #expect(alice.ask(invite(call, to: carol)).code == .conflict)
        #expect(world.questions.count == 1)
        let second = try ask(world.newCall())
        answer(second, .allowed(CallPermit(ringTime: .seconds(600))))
        #expect(bob.offers(of: second.call).first?.expiresAt == world.now + world.timers.longestRing)
    }

    @Test("that the answer refuses is forbidden with its reason, and leaves nothing behind")
    func refused() throws {
        let call = world.newCall()
        answer(try ask(call), .refused("No credit."))
        #expect(alice.lastAnswer == .failure(SignalError(.forbidden, "No credit.")))
        #expect(world.store.calls[call] == nil && bob.offers(of: call).isEmpty)
        // Not remembered: the next attempt is asked about again.
        answer(try ask(call), .allowed(CallPermit()))
        #expect(world.questions.count == 2 && bob.offers(of: call).count == 1)
    }

    @Test("without an answer in time is refused or allowed by the policy, and a late answer changes nothing")
    func overdue() throws {
        for allows in [false, true] {
            for fails in [false, true] {
                var policy = AuthorizationPolicy()
                policy.allowsOnFailure = allows
                let (world, alice, bob, _) = Self.scene(policy)
                let call = world.newCall()
                alice.send(.invite(Invite(call: call, to: .user(bob.user))))
                let question = try #require(world.questions.first)
                if fails {
                    world.step(.authorized(call, number: question.number, .failed))
                } else {
                    world.advance(.milliseconds(799))
                    #expect(alice.unanswered == 1)
                    world.advance(.milliseconds(1))
                }
                #expect(alice.unanswered == 0 && bob.offers(of: call).count == (allows ? 1 : 0))
                #expect(alice.lastAnswer?.code == (allows ? nil : .overloaded(retryAfter: .seconds(2))))
                world.step(.authorized(call, number: question.number, .allowed(CallPermit())))
                #expect(bob.offers(of: call).count == (allows ? 1 : 0))
            }
        }
    }

    @Test("that is repeated meanwhile has one question and the same answer; another body is a conflict")
    func repeated() throws {
        let call = world.newCall()
        let question = try ask(call)
        alice.send(invite(call))
        #expect(alice.ask(invite(call, video: true)).code == .conflict)
        #expect(world.online("alice").ask(invite(call)).code == .conflict)
        #expect(bob.ask(invite(call)).code == .forbidden)
        #expect(world.questions.count == 1 && alice.unanswered == 2)
        answer(question, .allowed(CallPermit()))
        #expect(alice.unanswered == 0 && bob.offers(of: call).count == 1)
    }

    @Test("takes the caller's candidates along, in order")
    func candidates() throws {
        let call = world.newCall()
        let question = try ask(call)
        let candidates = (1...3).map { RawJSON(bytes: Array("{\"candidate\":\"\($0)\"}".utf8)) }
        for candidate in candidates {
            alice.notify(.candidates(CallCandidates(call: call, candidates: [candidate], isFinal: false)))
        }
        answer(question, .allowed(CallPermit()))
        let events = bob.events.compactMap { event -> [RawJSON]? in
            switch event {
            case .incoming(let incoming) where incoming.call == call: Array(incoming.candidates)
            case .candidates(let batch) where batch.call == call: Array(batch.candidates)
            default: nil
            }
        }
        #expect(events.flatMap { $0 } == candidates)
    }

    @Test("that the caller withdraws is over, whatever the answer")
    func withdrawn() throws {
        let call = world.newCall()
        let question = try ask(call)
        #expect(bob.hangUp(call).code == .forbidden)
        #expect(alice.hangUp(call).reply == .callState(.ended, .cancelled))
        #expect(alice.lastAnswer?.code == .callEnded(.cancelled) && alice.unanswered == 0)
        answer(question, .allowed(CallPermit()))
        world.advance(.seconds(1))
        #expect(world.store.calls[call] == nil && bob.offers(of: call).isEmpty)
        #expect(world.core.census.authorizations == 0)
    }

    @Test("that ends for another reason is refused with it; candidates sent as a request are answered")
    func failed() throws {
        let call = world.newCall()
        _ = try ask(call)
        let connection = try #require(alice.connection)
        let request = world.nextRequest()
        world.step(
            .client(
                .notified(
                    connection, request,
                    .candidates(CallCandidates(call: call, candidates: [RawJSON("5")], isFinal: false)))))
        #expect(alice.answer(to: request) == nil)
        #expect(alice.hangUp(call, .iceFailed).reply == .callState(.ended, .iceFailed))
        #expect(alice.lastAnswer?.code == .callEnded(.iceFailed) && alice.answer(to: request)?.reply == .done)
    }

    @Test("of a connection that is lost meanwhile has no effect, and may be repeated on the next one")
    func connectionLost() throws {
        let call = world.newCall()
        let question = try ask(call)
        alice.lose()
        alice.resume()
        alice.send(invite(call))
        #expect(world.questions.count == 1)
        answer(question, .allowed(CallPermit()))
        #expect(bob.offers(of: call).count == 1 && alice.lastAnswer?.reply != nil)

        let other = world.newCall()
        let second = try ask(other)
        alice.lose()
        answer(second, .allowed(CallPermit()))
        #expect(world.store.calls[other] == nil && bob.offers(of: other).isEmpty)
        #expect(world.core.census.authorizations == 0)
    }

    @Test("loses to nothing by waiting: glare is decided when the answer comes, draining when it begins")
    func conditionsAtTheAnswer() throws {
        let question = try ask(world.newCall())
        // Bob calls Alice meanwhile, and is allowed first.
        let other = world.newCall()
        bob.send(.invite(Invite(call: other, to: .user(alice.user))))
        answer(try #require(world.questions.last), .allowed(CallPermit()))
        answer(question, .allowed(CallPermit()))
        let states = [question.call, other].map { world.store.calls[$0]?.endReason }
        #expect(states.filter { $0 == .glare }.count == 1 && states.filter { $0 == nil }.count == 1)

        let late = try ask(world.newCall())
        world.step(.drainingBegan(within: .seconds(60)))
        #expect(alice.lastAnswer?.code == .draining && world.core.census.authorizations == 0)
        answer(late, .allowed(CallPermit()))
        #expect(world.store.calls[late.call] == nil)
        let count = world.questions.count
        #expect(alice.ask(invite(world.newCall())).code == .draining && world.questions.count == count)
    }

    @Test("beside many others of its caller is not allowed without an answer, whatever the policy")
    func crowd() throws {
        var policy = AuthorizationPolicy()
        policy.allowsOnFailure = true
        let (world, alice, bob, carol) = Self.scene(policy)
        func fail(_ question: AuthorizationQuestion) {
            world.step(.authorized(question.call, number: question.number, .failed))
        }
        for _ in 0...AnswerRoom.crowd { alice.send(.invite(Invite(call: world.newCall(), to: .user(bob.user)))) }
        carol.send(.invite(Invite(call: world.newCall(), to: .user(bob.user))))
        let questions = world.questions
        #expect(questions.count == AnswerRoom.crowd + 2)
        for (phone, question) in [(alice, questions[0]), (carol, questions[AnswerRoom.crowd + 1])] {
            fail(question)
            #expect(phone.lastAnswer?.reply != nil && world.store.calls[question.call] != nil)
        }
        fail(questions[AnswerRoom.crowd])
        #expect(alice.lastAnswer?.code == .rateLimited(retryAfter: .seconds(1)))
    }

    @Test("beyond the number that may wait is refused, whatever the policy; of a user who has too many, at once")
    func bounded() throws {
        for allows in [false, true] {
            var policy = AuthorizationPolicy()
            (policy.mostWaiting, policy.allowsOnFailure) = (4, allows)
            let (world, alice, bob, carol) = Self.scene(policy)
            func invite() -> ClientRequest { .invite(Invite(call: world.newCall(), to: .user(bob.user))) }
            let call = world.newCall()
            alice.send(.invite(Invite(call: call, to: .user(bob.user))))
            alice.send(invite())
            #expect(alice.ask(invite()).code == .rateLimited(retryAfter: .seconds(1)))
            // What waits with an invite takes no place of one.
            alice.send(.invite(Invite(call: call, to: .user(bob.user))))
            #expect(alice.unanswered == 3)
            for phone in [carol, world.online("dave")] {
                phone.send(invite())
                #expect(phone.unanswered == 1)
            }
            #expect(world.questions.count == 4)
            let last = world.online("erin").ask(invite())
            #expect(last.code == .overloaded(retryAfter: .seconds(2)))
            #expect(world.core.counters.hits(of: .authorizations) == 2)
            world.advance(.seconds(1))
            #expect(world.core.census.authorizations == 0 && alice.unanswered == 0)
            alice.send(invite())
            #expect(world.questions.count == 5)
        }
    }

    @Test("ends the calls that a restarted app does not know only when it is allowed")
    func inheritedCalls() throws {
        for limit in [2, 1] {
            var limits = CoreLimits()
            limits.liveCallsPerUser = limit
            let (world, alice, bob, carol) = Self.scene(AuthorizationPolicy(), limits: limits)
            func ask(_ phone: Phone) throws -> AuthorizationQuestion {
                alice.send(.invite(Invite(call: world.newCall(), to: .user(phone.user))))
                return try #require(world.questions.last)
            }
            func answer(_ question: AuthorizationQuestion, _ answer: AuthorizationAnswer) {
                world.step(.authorized(question.call, number: question.number, answer))
            }
            let first = try ask(bob)
            answer(first, .allowed(CallPermit()))
            #expect(bob.answer(first.call).reply == .won)
            alice.open()
            for refusal in [AuthorizationAnswer.refused("No."), .failed] {
                let second = try ask(carol)
                #expect(second.call != first.call && world.store.calls[first.call]?.endReason == nil)
                answer(second, refusal)
                #expect(world.store.calls[first.call]?.endReason == nil, "limit \(limit), \(refusal)")
            }
            answer(try ask(carol), .allowed(CallPermit()))
            #expect(world.store.calls[first.call]?.endReason == .connectionLost)
        }
    }

    @Test("of a user whom the hook answers has a place beside others that it never does", arguments: [4, 12, 100])
    func roomBesideFailures(accounts: Int) throws {
        var policy = AuthorizationPolicy()
        policy.mostWaiting = 64
        let (world, alice, bob, _) = Self.scene(policy)
        let phones = (0..<accounts).map { world.online("mal\($0)") }
        func fill(_ phones: [Phone]) {
            for phone in phones {
                for _ in 0...(80 / accounts) {
                    phone.send(.invite(Invite(call: world.newCall(), to: .user(bob.user))))
                }
            }
        }
        // In both orders, so that a question of each account has failed.
        for order in [phones, phones.reversed()] {
            fill(order)
            #expect(world.core.census.authorizations <= policy.mostWaiting)
            world.advance(.seconds(2))
            #expect(world.core.census.authorizations == 0)
        }
        fill(phones)
        #expect(world.core.census.authorizations <= policy.mostWaiting / 2)
        for _ in 0..<4 {
            let question = try ask(alice, bob, in: world)
            world.step(.authorized(question.call, number: question.number, .refused("No.")))
            #expect(alice.lastAnswer?.code == .forbidden)
        }
    }

    private func ask(_ phone: Phone, _ callee: Phone, in world: World) throws -> AuthorizationQuestion {
        let call = world.newCall()
        phone.send(.invite(Invite(call: call, to: .user(callee.user))))
        let question = try #require(world.questions.last)
        #expect(question.call == call)
        return question
    }

    @Test("that was not asked about for want of a place is refused, whatever the policy")
    func unasked() throws {
        var policy = AuthorizationPolicy()
        policy.allowsOnFailure = true
        let (world, alice, bob, _) = Self.scene(policy)
        let question = try ask(alice, bob, in: world)
        world.step(.authorized(question.call, number: question.number, .unasked))
        #expect(alice.lastAnswer?.code == .overloaded(retryAfter: .seconds(2)) && bob.offers(of: question.call).isEmpty)
        // Switched off meanwhile.
        let second = try ask(alice, bob, in: world)
        world.step(.reconfigured(CoreSettings(authorization: .some(nil))))
        world.step(.authorized(second.call, number: second.number, .unasked))
        #expect(bob.offers(of: second.call).count == 1)
    }

    @Test("that others kept waiting, or from being asked, is no reason to doubt its user")
    func undoubted() throws {
        var policy = AuthorizationPolicy()
        policy.mostWaiting = 4
        let (world, alice, bob, carol) = Self.scene(policy)
        func settle(_ question: AuthorizationQuestion, _ answer: AuthorizationAnswer) {
            world.step(.authorized(question.call, number: question.number, answer))
        }
        for answer in [AuthorizationAnswer.unasked, .refused("No.")] {
            let question = try ask(alice, bob, in: world)
            world.advance(.milliseconds(500))
            settle(question, answer)
        }
        let doubted = [carol, world.online("dave")]
        for phone in doubted { settle(try ask(phone, bob, in: world), .failed) }
        // Half of the places, which is all that the doubted have.
        for phone in doubted { _ = try ask(phone, bob, in: world) }
        settle(try ask(alice, bob, in: world), .refused("No."))
        #expect(alice.lastAnswer?.code == .forbidden)
    }

    @Test(
        "of a user whom an outage failed has a place beside others that are never answered, and several after an answer",
        arguments: [1, 3, 12])
    func afterOutage(accounts: Int) throws {
        var policy = AuthorizationPolicy()
        policy.mostWaiting = 64
        let (world, alice, bob, carol) = Self.scene(policy)
        func invite() -> ClientRequest { .invite(Invite(call: world.newCall(), to: .user(bob.user))) }
        func settle(_ question: AuthorizationQuestion, _ answer: AuthorizationAnswer) {
            world.step(.authorized(question.call, number: question.number, answer))
        }
        let phones = (0..<accounts).map { world.online("mal\($0)") }
        for phone in phones + [alice, carol] { settle(try ask(phone, bob, in: world), .failed) }
        for phone in phones { for _ in 0..<AnswerRoom.share.questions { phone.send(invite()) } }
        #expect(world.core.census.authorizations < policy.mostWaiting / 2)
        for phone in [alice, carol] {
            let question = try ask(phone, bob, in: world)
            // Not `rate_limited`: it is not the user who asks too much.
            #expect(phone.ask(invite()).code == .overloaded(retryAfter: .seconds(2)))
            settle(question, .refused("No."))
            for _ in 0..<4 { _ = try ask(phone, bob, in: world) }
        }
    }

    @Test("that was not sent leaves a doubt as it was; an answer out of time does not end it")
    func doubtAfterAnswers() throws {
        var policy = AuthorizationPolicy()
        policy.mostWaiting = 8
        let (world, alice, bob, _) = Self.scene(policy)
        func hasRoom(after answer: AuthorizationAnswer, taking time: Duration) throws -> Bool {
            let question = try ask(alice, bob, in: world)
            world.advance(time)
            world.step(.authorized(question.call, number: question.number, answer))
            // In doubt a user has two of eight places, a quarter.
            let count = world.questions.count
            for _ in 0..<3 { alice.send(.invite(Invite(call: world.newCall(), to: .user(bob.user)))) }
            defer { world.advance(policy.timeout) }
            return world.questions.count - count == 3
        }
        #expect(try hasRoom(after: .unasked, taking: .zero))
        // Those three had no answer.
        #expect(try !hasRoom(after: .unasked, taking: .zero))
        #expect(try !hasRoom(after: .crowded, taking: .zero))
        #expect(try !hasRoom(after: .refused("No."), taking: policy.timeout - .milliseconds(1)))
        #expect(try hasRoom(after: .refused("No."), taking: policy.timeout / 2))
    }

    @Test("that the policy allows without an answer ends the calls that a restarted app does not know")
    func inheritedCallsWithoutAnswer() throws {
        var policy = AuthorizationPolicy()
        policy.allowsOnFailure = true
        let (world, alice, bob, carol) = Self.scene(policy)
        let first = try ask(alice, bob, in: world)
        world.step(.authorized(first.call, number: first.number, .failed))
        #expect(bob.answer(first.call).reply == .won)
        alice.open()
        let second = try ask(alice, carol, in: world)
        world.step(.authorized(second.call, number: second.number, .failed))
        #expect(carol.offers(of: second.call).count == 1)
        #expect(world.store.calls[first.call]?.endReason == .connectionLost)
    }

    @Test("is gone after a restart, and its repetition is asked about")
    func restart() throws {
        let call = world.newCall()
        let question = try ask(call)
        world.restart()
        answer(question, .allowed(CallPermit()))
        #expect(world.store.calls[call] == nil)
        for phone in [alice, bob] { phone.open() }
        answer(try ask(call), .allowed(CallPermit()))
        #expect(bob.offers(of: call).count == 1)
    }

    @Test("is asked about only while the server is configured so; an open question is answered in any case")
    func reconfigured() throws {
        let question = try ask(world.newCall())
        world.step(.reconfigured(CoreSettings(authorization: .some(nil))))
        #expect(alice.call(bob) != question.call && world.questions.count == 1)
        answer(question, .refused("No."))
        #expect(alice.lastAnswer?.code == .forbidden)
        world.step(.reconfigured(CoreSettings(authorization: AuthorizationPolicy())))
        _ = try ask(world.newCall())
        #expect(world.questions.count == 2)
    }

    @Test("holds nothing else: other calls ring, are answered and end while it waits")
    func others() throws {
        answer(try ask(world.newCall()), .allowed(CallPermit()))
        let call = try #require(world.questions.first?.call)
        _ = try ask(world.newCall())
        #expect(bob.ask(.ringing(call)).reply != nil && bob.answer(call).reply == .won)
        #expect(alice.hangUp(call).reply == .callState(.ended, .hangup))
        #expect(alice.unanswered == 1)
    }
}
