import CallVocabulary
import PushVocabulary
import RecordModel
import Testing

@testable import CallCore

@Suite("A session that a backend authorizes")
struct SessionAuthorizationTests {
    private static func world(_ change: (inout AuthorizationPolicy) -> Void = { _ in }) -> World {
        var policy = AuthorizationPolicy()
        policy.includesSessions = true
        change(&policy)
        return World(authorization: policy)
    }

    private func answer(_ answer: AuthorizationAnswer, in world: World) throws {
        let (connection, question) = try #require(world.sessionQuestions.last)
        world.step(.sessionAuthorized(connection, number: question.number, answer))
    }

    /// Opens a session that the backend allows.
    private func open(_ phone: Phone, in world: World) throws {
        phone.sendOpen()
        try answer(.allowed(CallPermit()), in: world)
        #expect(phone.lastAnswer?.opened?.resumed == false)
    }

    @Test("opens, and registers its device, only when the answer allows it")
    func allowed() throws {
        let world = Self.world()
        let alice = world.phone("alice")
        alice.sendOpen()
        let (connection, question) = try #require(world.sessionQuestions.first)
        #expect(connection == alice.connection)
        #expect(
            question
                == SessionQuestion(
                    number: question.number, user: alice.user,
                    device: DeviceDescription(id: alice.id, platform: .ios)))
        #expect(alice.unanswered == 1 && world.store.devices.values.isEmpty && world.core.census.sessions == 0)
        #expect(world.core.census.authorizations == 1)
        try answer(.allowed(CallPermit()), in: world)
        #expect(alice.lastAnswer?.opened != nil && world.store.devices[alice.key] != nil)
        #expect(world.core.census.authorizations == 0 && world.sessionQuestions.count == 1)
    }

    @Test("that the answer refuses is forbidden with its reason, and may be asked for again on the same connection")
    func refused() throws {
        let world = Self.world()
        let alice = world.phone("alice")
        alice.sendOpen()
        try answer(.refused("The account is closed."), in: world)
        #expect(alice.lastAnswer == .failure(SignalError(.forbidden, "The account is closed.")))
        #expect(world.store.devices.values.isEmpty && world.core.census.sessions == 0 && alice.closes.isEmpty)
        let (connection, first) = try #require(world.sessionQuestions.last)
        alice.sendOpen(again: connection)
        let (again, second) = try #require(world.sessionQuestions.last)
        #expect(again == connection && world.sessionQuestions.count == 2 && first.number != second.number)
        // A second session.open on the connection does not wait.
        alice.sendOpen(again: connection)
        #expect(alice.lastAnswer?.code == .badState(nil) && world.sessionQuestions.count == 2)
        // A late answer to the first question is not the answer to the second.
        world.step(.sessionAuthorized(connection, number: first.number, .allowed(CallPermit())))
        #expect(world.core.census.sessions == 0 && world.core.census.authorizations == 1)
        world.step(.sessionAuthorized(connection, number: second.number, .allowed(CallPermit())))
        #expect(world.core.census.sessions == 1 && alice.unanswered == 0)
    }

    @Test("without an answer is refused or allowed by the policy, and a late answer changes nothing")
    func overdue() throws {
        for allows in [false, true] {
            for fails in [false, true] {
                let world = Self.world { $0.allowsOnFailure = allows }
                let alice = world.phone("alice")
                alice.sendOpen()
                if fails {
                    try answer(.failed, in: world)
                } else {
                    world.advance(.milliseconds(799))
                    #expect(alice.unanswered == 1)
                    world.advance(.milliseconds(1))
                }
                #expect((alice.lastAnswer?.opened != nil) == allows)
                #expect(alice.lastAnswer?.code == (allows ? nil : .overloaded(retryAfter: .seconds(2))))
                try answer(.allowed(CallPermit()), in: world)
                try answer(.refused("No."), in: world)
                #expect(world.core.census.sessions == (allows ? 1 : 0) && world.core.census.authorizations == 0)
            }
        }
    }

    @Test("needs no question to resume; a request that cannot resume needs one")
    func resumed() throws {
        let world = Self.world()
        let alice = world.phone("alice")
        try open(alice, in: world)
        alice.lose()
        #expect(alice.resume().opened?.resumed == true && world.sessionQuestions.count == 1)
        alice.lose()
        let session = try #require(alice.session?.session)
        alice.sendOpen(resuming: ResumeRequest(session: session, token: "other", lastSeq: 0))
        #expect(alice.unanswered == 1 && world.sessionQuestions.count == 2)
        try answer(.allowed(CallPermit()), in: world)
        #expect(alice.lastAnswer?.opened?.resumed == false)
    }

    @Test("of a wake token needs no question, nor do requests without a session")
    func wake() throws {
        let world = Self.world()
        let (alice, bob) = (world.phone("alice"), world.phone("bob"))
        for phone in [alice, bob] { try open(phone, in: world) }
        bob.lose()
        world.advance(world.timers.resume)
        alice.send(.invite(Invite(call: world.newCall(), to: .user(bob.user))))
        let question = try #require(world.questions.last)
        world.step(.authorized(question.call, number: question.number, .allowed(CallPermit())))
        let push = try #require(world.leg(question.call, of: bob)?.push)
        world.makeReady(push)
        world.settle(push, .accepted)
        #expect(bob.wake(question.call).opened != nil)
        #expect(world.ask(.get(question.call), as: bob.user, device: bob.id, scope: .full)?.reply != nil)
        #expect(world.sessionQuestions.count == 2)
    }

    @Test("of a connection that is lost meanwhile does not open")
    func connectionLost() throws {
        let world = Self.world()
        let alice = world.phone("alice")
        alice.sendOpen()
        alice.lose()
        #expect(world.core.census.authorizations == 0)
        try answer(.allowed(CallPermit()), in: world)
        world.advance(.seconds(1))
        #expect(world.core.census.sessions == 0 && world.store.devices.values.isEmpty)
    }

    @Test("does not open when the device asks again on another connection, which closes the first, or opens there")
    func askedAgain() throws {
        let world = Self.world()
        let alice = world.phone("alice")
        alice.sendOpen()
        let (first, early) = try #require(world.sessionQuestions.last)
        alice.sendOpen()
        let (second, late) = try #require(world.sessionQuestions.last)
        #expect(first != second && alice.closes == [.replaced] && world.core.census.authorizations == 1)
        world.step(.sessionAuthorized(second, number: late.number, .allowed(CallPermit())))
        #expect(alice.lastAnswer?.opened != nil)
        world.step(.sessionAuthorized(first, number: early.number, .allowed(CallPermit())))
        world.advance(.seconds(1))
        #expect(alice.closes == [.replaced] && world.core.census.sessions == 1)
    }

    @Test("of a party of a live call opens without an answer, so that an outage of the backend ends no call")
    func partyOfCall() throws {
        for fails in [false, true] {
            let world = Self.world()
            let (alice, bob, carol) = (world.phone("alice"), world.phone("bob"), world.phone("carol"))
            let tablet = world.phone("alice")
            for phone in [alice, bob, carol, tablet] { try open(phone, in: world) }
            alice.send(.invite(Invite(call: world.newCall(), to: .user(bob.user))))
            let question = try #require(world.questions.last)
            world.step(.authorized(question.call, number: question.number, .allowed(CallPermit())))
            #expect(bob.answer(question.call).reply == .won)
            world.restart()
            for phone in [alice, bob, carol] {
                phone.sendOpen()
                if fails { try answer(.failed, in: world) } else { world.advance(.milliseconds(800)) }
            }
            #expect(alice.lastAnswer?.opened != nil && bob.lastAnswer?.opened != nil)
            #expect(carol.lastAnswer?.code == .overloaded(retryAfter: .seconds(2)))
            // Nor may another device of a party.
            tablet.sendOpen()
            if fails { try answer(.failed, in: world) } else { world.advance(.milliseconds(800)) }
            #expect(tablet.lastAnswer?.code == .overloaded(retryAfter: .seconds(2)))
            // A refusal counts.
            alice.lose()
            world.restart()
            alice.sendOpen()
            try answer(.refused("No."), in: world)
            #expect(alice.lastAnswer?.code == .forbidden)
        }
    }

    @Test("does not open when the token is revoked before the answer arrives")
    func revoked() throws {
        let world = Self.world()
        let alice = world.phone("alice")
        alice.issuedAt = world.now
        alice.sendOpen()
        world.advance(.milliseconds(1))
        world.administer(.revokeTokens(alice.user, before: nil))
        try answer(.allowed(CallPermit()), in: world)
        #expect(alice.lastAnswer?.code == .unauthenticated && alice.closes == [.badToken])
        // A revoked token is refused without a question.
        #expect(alice.open().code == .unauthenticated && world.sessionQuestions.count == 1)
    }

    @Test("beyond the limit of waiting sessions is decided by the policy at once; the limit of calls is separate")
    func bounded() throws {
        let world = Self.world { $0.mostWaiting = 1 }
        let (alice, bob, carol) = (world.phone("alice"), world.phone("bob"), world.phone("carol"))
        try open(alice, in: world)
        bob.sendOpen()
        #expect(carol.open().code == .overloaded(retryAfter: .seconds(2)))
        #expect(world.core.counters.hits(of: .authorizations) == 1)
        alice.send(.invite(Invite(call: world.newCall(), to: .user(bob.user))))
        #expect(world.questions.count == 1)
        try answer(.refused("No."), in: world)
        // The invite still waits.
        let count = world.sessionQuestions.count
        carol.sendOpen()
        #expect(carol.unanswered == 1 && world.sessionQuestions.count == count + 1)
    }

    @Test("of a user who has too many that wait is refused at once, whatever the policy; those of others wait")
    func shares() throws {
        let world = Self.world { ($0.mostWaiting, $0.allowsOnFailure) = (4, true) }
        let phones = (0..<3).map { _ in world.phone("alice") }
        for phone in phones.dropLast() { phone.sendOpen() }
        #expect(phones[2].open().code == .rateLimited(retryAfter: .seconds(1)))
        let bob = world.phone("bob")
        bob.sendOpen()
        #expect(bob.unanswered == 1 && world.sessionQuestions.count == 3)
        world.advance(.milliseconds(800))
        #expect(bob.lastAnswer?.opened != nil && world.core.census.authorizations == 0)
        phones[2].sendOpen()
        #expect(phones[2].unanswered == 1 && world.sessionQuestions.count == 4)
    }

    @Test("beside many others of its user is not allowed without an answer, whatever the policy")
    func crowd() throws {
        let world = Self.world { $0.allowsOnFailure = true }
        let phones = (0...AnswerRoom.crowd).map { _ in world.phone("alice") }
        for phone in phones { phone.sendOpen() }
        #expect(world.sessionQuestions.count == phones.count)
        try answer(.failed, in: world)
        #expect(phones.last?.lastAnswer?.code == .rateLimited(retryAfter: .seconds(1)))
        let (connection, question) = try #require(world.sessionQuestions.first)
        world.step(.sessionAuthorized(connection, number: question.number, .failed))
        #expect(phones.first?.lastAnswer?.opened != nil)
    }

    @Test("answered in time ends the doubts about its user's calls too")
    func trust() throws {
        let world = Self.world { $0.mostWaiting = 4 }
        let (alice, tablet, bob) = (world.phone("alice"), world.phone("alice"), world.phone("bob"))
        try open(alice, in: world)
        func invite() { alice.send(.invite(Invite(call: world.newCall(), to: .user(bob.user)))) }
        invite()
        let question = try #require(world.questions.last)
        world.step(.authorized(question.call, number: question.number, .failed))
        // In doubt a user has one of four places, a quarter.
        for _ in 0..<2 { invite() }
        #expect(world.questions.count == 2 && alice.lastAnswer?.code == .overloaded(retryAfter: .seconds(2)))
        try open(tablet, in: world)
        invite()
        #expect(world.questions.count == 3)
    }

    @Test("needs a question only while the setting is on; the answer to an earlier question still counts")
    func reconfigured() throws {
        let world = World(authorization: AuthorizationPolicy())
        let (alice, bob) = (world.online("alice"), world.phone("bob"))
        var policy = AuthorizationPolicy()
        policy.includesSessions = true
        world.step(.reconfigured(CoreSettings(authorization: policy)))
        bob.sendOpen()
        world.step(.reconfigured(CoreSettings(authorization: .some(nil))))
        #expect(alice.open().opened != nil && world.sessionQuestions.count == 1)
        try answer(.refused("No."), in: world)
        #expect(bob.lastAnswer?.code == .forbidden)
    }
}
