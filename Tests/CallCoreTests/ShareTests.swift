import CallVocabulary
import RecordModel
import Testing

@testable import CallCore

/// What users share has a share for each: one user at the limit, and the calls of another go on at once.
@Suite struct ShareTests {
    private func invite(_ phone: Phone, _ to: CallTarget, sdp: String? = nil) -> Result<Reply, SignalError> {
        phone.ask(.invite(Invite(call: phone.world.newCall(), to: to, sdp: sdp.map(RawJSON.init))))
    }

    private func handles(_ name: String, _ count: Int) -> [Handle] { (0..<count).map { Handle("\(name)\($0)")! } }

    /// The time after which a refused request may be repeated.
    private func retryAfter(_ answer: Result<Reply, SignalError>) -> Duration? {
        if case .rateLimited(let wait)? = answer.code { wait } else { nil }
    }

    @Test("a share is a tenth, but at least 100, and never more than the whole")
    func tenth() {
        #expect([1, 20, 100, 500, 1000, 1001, 10_000].map(CoreLimits.share) == [1, 20, 100, 100, 100, 100, 1000])
        // One call to the largest group has room.
        let limits = CoreLimits()
        #expect(limits.pushesPerCaller >= limits.legsPerCall && limits.legsPerCall >= CallGroup.mostMembers)
        let longest = StoredBytes.callee + StoredBytes.device + 2 * FrameLimits.name
        #expect(limits.storedBytesPerUser >= 2 * CallGroup.mostMembers * longest)
    }

    // MARK: What is counted

    @Test("of calls that end with a fault, those of the caller with the most are counted apart")
    func busiestCaller() throws {
        let (world, alice, carol) = (World(), "alice", "carol")
        let phones = [alice: world.online(alice), carol: world.online(carol)]
        let bob = world.asleep("bob", pushable: false)
        func call(_ user: String) throws {
            let phone = try #require(phones[user])
            #expect(invite(phone, .user(bob.user)).reply != nil)
        }
        for user in [alice, carol, alice, alice, carol] { try call(user) }
        let reason = try #require(EndReason.allCases.firstIndex(of: .noDevices))
        #expect(world.core.counters.callsEnded[reason] == 5)
        #expect(world.core.counters.callsOfOneCaller == [.noDevices: 3])
    }

    @Test("the busiest user of each quarter of an hour is counted")
    func busiestUser() {
        var busiest = BusiestUser()
        let start = Instant(milliseconds: 0)
        let users = handles("u", 3)
        for index in [0, 1, 2, 1, 2, 1, 0] { busiest.add(users[index], at: start) }
        #expect(busiest.total == 3)
        let next = start + BusiestUser.period
        for index in [0, 2] { busiest.add(users[index], at: next) }
        #expect(busiest.total == 4)
        busiest.add(users[2], at: next)
        #expect(busiest.total == 5)
    }

    // MARK: The disk

    @Test("what invites write is bounded for each caller")
    func storedInvites() throws {
        var limits = CoreLimits()
        limits.storedBytesPerUser = 65_536
        let (world, alice, bob) = World.pair(limits: limits)
        let carol = world.online("carol")
        let sdp = String(repeating: "s", count: 30_000)
        let answers = (0..<5).map { _ in invite(alice, .user(bob.user), sdp: sdp) }
        #expect(answers.map { $0.code == nil } == [true, true, false, false, false])
        let wait = try #require(retryAfter(answers[4]))
        #expect(wait > .zero && wait <= .seconds(60))
        #expect(world.core.counters.hits(of: .storedBytesPerUser) == 3 && world.core.liveCalls == 2)
        #expect(bob.offers(of: carol.call(bob, sdp: sdp)).count == 1)
        world.advance(wait)
        #expect(invite(alice, .user(bob.user), sdp: sdp).code == nil)
    }

    @Test("the caller's name counts as often as a call writes it, and in memory", arguments: [false, true])
    func callerName(hasEvents: Bool) throws {
        let world = World()
        let (alice, bob) = (world.phone("alice"), world.asleep("bob"))
        if hasEvents { world.step(.reconfigured(CoreSettings(recordsEvents: true))) }
        func stored(_ name: String?) -> Int {
            world.core.storedBytes(of: [bob.user, alice.user], to: .user(bob.user), callerName: name)
        }
        let name = String(repeating: "n", count: FrameLimits.name)
        alice.open(name: name)
        // The call, a missed call of each user and a notice to each device; six events.
        #expect(stored(name) - stored(nil) == (1 + 2 + 2 + (hasEvents ? 6 : 0)) * name.utf8.count)
        func memory(_ name: String?) throws -> Int {
            alice.open(name: name)
            return try #require(world.core.calls[alice.call(bob)]).bytes
        }
        #expect(try memory(name) - memory(nil) == name.utf8.count)
        let invite = Invite(call: world.newCall(), to: .user(bob.user))
        #expect(Call.bytes(of: invite, callerName: name) - Call.bytes(of: invite, callerName: nil) == name.utf8.count)
    }

    @Test("a device's row counts with its texts, and a report's error for the device's user")
    func storedTexts() throws {
        let plain = PushToken.voip("a")
        let profiled = PushToken(
            provider: plain.provider, kind: plain.kind, environment: plain.environment, topic: plain.topic,
            token: plain.token, profile: "callkit")
        #expect(StoredBytes.of([profiled]) - StoredBytes.of([plain]) == 7)
        let none: [PushToken] = []
        #expect(StoredBytes.of(none) >= 2 * FrameLimits.name)
        var limits = CoreLimits()
        limits.storedBytesPerUser = 65_536
        let (world, alice, bob) = World.pair(limits: limits, bobIsAsleep: true)
        let (call, push) = try alice.call(bob, push: .accepted)
        bob.open()
        func fullAt() throws -> Instant {
            let bound = try #require(world.core.directory.user(bob.user)).storageBound
            return try #require(bound.nextAllowed(65_536, at: world.now, 65_536, in: .seconds(60)))
        }
        let before = try fullAt()
        let error = String(repeating: "e", count: FrameLimits.reportError)
        bob.ask(.report(PushReport(push: push, call: call, result: .failed, error: error)))
        // 1024 of 65,536 bytes take 937 ms to come back.
        #expect(try fullAt() >= before + .milliseconds(900))
    }

    @Test("candidates that are stored count for the one who sends them, and those that are relayed do not")
    func storedCandidates() throws {
        var limits = CoreLimits()
        limits.storedBytesPerUser = 65_536
        let (world, alice, bob) = World.pair(limits: limits)
        bob.ask(.close)
        let calls = (0..<2).map { _ in alice.call(bob) }
        let candidates = (0..<4).map { "\($0)".padded(to: 10_000) }
        #expect(alice.ask(candidates: candidates, of: calls[0]).reply == .done)
        let refused = alice.ask(candidates: candidates, of: calls[1])
        let wait = try #require(retryAfter(refused))
        #expect(wait <= .seconds(60) && refused.error?.call == calls[1])
        #expect(world.store.candidates.count == 1 && world.core.counters.candidatesRefused == 4)
        bob.open()
        #expect(bob.answer(calls[1]).reply == .won)
        for _ in 0..<3 { #expect(alice.ask(candidates: candidates, of: calls[1]).reply == .done) }
        #expect(bob.ask(candidates: candidates, of: calls[1]).reply == .done)
    }

    @Test("a device is updated so many times a minute, and others' devices as often")
    func deviceUpdates() throws {
        let (world, alice, bob) = World.pair()
        let most = world.limits.deviceUpdatesPerUser
        for number in 0..<most { #expect(alice.ask(.updateDevice(push: [.voip("a\(number)")])).reply == .done) }
        let refused = alice.ask(.updateDevice(push: [.voip("last")]))
        let wait = try #require(retryAfter(refused))
        #expect(wait == .milliseconds(500) && world.core.counters.hits(of: .deviceUpdatesPerUser) == 1)
        #expect(world.store.devices[alice.key]?.tokens.map(\.token) == [.voip("a\(most - 1)")])
        #expect(bob.ask(.updateDevice(push: [.voip("b")])).reply == .done)
        world.advance(wait)
        #expect(alice.ask(.updateDevice(push: [.voip("last")])).reply == .done)
    }

    @Test("a session that brings other push tokens is an update, and one that brings the same is never refused")
    func tokensOfSessions() throws {
        let (world, alice, bob) = World.pair()
        let most = world.limits.deviceUpdatesPerUser
        for number in 0..<most { #expect(alice.open(sending: [.voip("a\(number)")]).opened != nil) }
        let wait = try #require(retryAfter(alice.open(sending: [.voip("last")])))
        #expect(wait == .milliseconds(500) && world.core.counters.hits(of: .deviceUpdatesPerUser) == 1)
        #expect(retryAfter(alice.ask(.updateDevice(push: [.voip("last")]))) == wait)
        #expect(alice.open(sending: [.voip("a\(most - 1)")]).opened != nil && alice.resume().opened != nil)
        #expect(bob.open(sending: [.voip("b")]).opened != nil)
        world.advance(wait)
        #expect(alice.open(sending: [.voip("last")]).opened != nil)
        #expect(world.store.devices[alice.key]?.tokens.map(\.token) == [.voip("last")])
    }

    @Test("what sessions write is bounded for each user, with their events", arguments: [false, true])
    func storedTokens(areNew: Bool) throws {
        var limits = CoreLimits()
        limits.storedBytesPerUser = 65_536
        let (world, alice, bob) = World.pair(limits: limits)
        world.step(.reconfigured(CoreSettings(recordsEvents: true)))
        func tokens(_ number: Int) -> [PushToken] { (0..<8).map { .voip("\(number).\($0).".padded(to: 2048)) } }
        var written = 0
        var refused: Duration?
        for number in 0..<20 where refused == nil {
            let phone = areNew ? world.phone("alice", tokens: []) : alice
            refused = retryAfter(phone.open(sending: tokens(number)))
            if refused == nil { written += 1 }
            if phone !== alice { phone.lose() }
        }
        // Each is a row and an event of some 18 kB.
        #expect(written == 1 && world.core.counters.hits(of: .storedBytesPerUser) == 1)
        let wait = try #require(refused)
        #expect(wait > .zero && wait <= .seconds(60))
        // The same tokens are accepted, and so are none; only that the device was seen is not written.
        let known = areNew ? world.phone("alice", tokens: []) : alice
        #expect(known.open(sending: areNew ? [] : tokens(0)).opened != nil)
        #expect(bob.open(sending: tokens(100)).opened != nil)
    }

    @Test("the answers of one user are bounded, and a refused one wins a moment later")
    func storedAnswers() throws {
        var limits = CoreLimits()
        limits.storedBytesPerUser = 65_536
        let (world, alice, bob) = World.pair(limits: limits)
        let carol = world.online("carol")
        let sdp = String(repeating: "s", count: 30_000)
        let calls = (0..<4).map { _ in alice.call(bob) }
        let other = alice.call(carol)
        #expect(bob.answer(calls[0]).reply == .won && bob.answer(calls[0], sdp: sdp).reply == .won)
        #expect(bob.answer(calls[1], sdp: sdp).reply == .won)
        let wait = try #require(retryAfter(bob.answer(calls[2], sdp: sdp)))
        #expect(wait > .zero && wait <= .seconds(30))
        #expect(world.store.calls[calls[2]]?.state.isRingingPhase == true)
        // An answer without SDP writes none, and the SDP can follow.
        #expect(bob.answer(calls[3]).reply == .won && retryAfter(bob.answer(calls[3], sdp: sdp)) != nil)
        #expect(carol.answer(other, sdp: sdp).reply == .won)
        world.advance(wait)
        #expect(bob.answer(calls[2], sdp: sdp).reply == .won)
    }

    @Test("a request that is repeated, or changes nothing, writes nothing")
    func repeated() throws {
        let (world, alice, bob) = World.pair(bobIsAsleep: true)
        let carol = world.asleep("carol", pushable: false)
        func change(_ name: String, _ act: () -> Bool) {
            let isFirstAccepted = act()
            #expect(isFirstAccepted, "\(name)")
            let before = world.records
            let isAccepted = act()
            #expect(isAccepted && world.records == before, "\(name)")
        }
        let (call, push) = try alice.call(bob, push: .accepted)
        bob.open()
        change("push.report") { bob.report(push, call).reply != nil }
        change("call.ringing") { bob.ring(call).reply != nil }
        change("session.state") { bob.ask(.session(.state(.background))).reply != nil }
        change("call.answer") { bob.answer(call, sdp: "1").reply == .won }
        change("call.connected of the caller") { alice.connected(call).reply != nil }
        change("call.connected of both") { bob.connected(call).reply != nil && alice.connected(call).reply != nil }
        change("call.hangup") { alice.hangUp(call).reply != nil && bob.hangUp(call).reply != nil }
        alice.call(carol)
        #expect(carol.open().opened?.missed.count == 1)
        let now = world.now
        change("missed.clear") { carol.ask(.clearMissed(upTo: now)).reply == .done }
        for (name, command) in [
            ("group", .setGroup(CallGroup(name: "desk", strategy: .all, members: [bob.user]))),
            ("user", .setUser(bob.user, UserPolicyChange(doNotDisturb: true))),
            ("alias", .setAlias(Alias(handle: Handle("robert")!, user: bob.user))),
            ("block list", .block(bob.user, [carol.user])), ("device", .resumeDevice(bob.user, bob.id)),
            ("forwarding", .forward(bob.user, busy: nil, noAnswer: .user(carol.user), after: nil)),
            ("revocation", .revokeTokens(carol.user, before: now)),
        ] as [(String, AdminCommand)] {
            change(name) { if case .success = world.administer(command) { true } else { false } }
        }
    }

    @Test("the devices that come late to ringing calls count for their user, and beyond the share they do not ring")
    func lateDevices() throws {
        var limits = CoreLimits()
        limits.storedBytesPerUser = 65_536
        let (world, alice, bob) = World.pair(limits: limits)
        let calls = (0..<5).map { _ in alice.call(bob) }
        var rang = 0
        for _ in 0..<40 {
            let late = world.phone("bob", tokens: [])
            #expect(late.open().opened != nil)
            rang += calls.count { late.offers(of: $0).count == 1 }
            late.ask(.logout)
        }
        #expect(rang >= 5 && rang * StoredBytes.device <= 2 * limits.storedBytesPerUser)
        #expect(world.core.counters.hits(of: .storedBytesPerUser) > 0)
        // Another user's device is none of it.
        #expect(world.online("carol").offers(of: alice.call(.user(Handle("carol")!))).count == 1)
    }

    @Test("a call that rang nobody keeps the number of its targets, and the list is in no memory and on no disk")
    func nobody() {
        let world = World()
        let alice = world.online("alice")
        let strangers = handles("nobody", 950)
        let call = world.newCall()
        let invite = ClientRequest.invite(Invite(call: call, to: .users(strangers), sdp: RawJSON("0")))
        let ended = Reply.inviteEnded(call, .unknownCallee)
        #expect(alice.ask(invite).reply == ended)
        let record = world.store.calls[call]
        #expect(record?.to == .users(Array(strangers.prefix(16))) && record?.toCount == 950 && record?.members == [])
        #expect(world.core.calls[call].map { $0.bytes < 3_000 && $0.callees.handles.isEmpty } == true)
        #expect(alice.ask(invite).reply == ended)
        world.advance(world.timers.tombstone)
        #expect(world.core.calls.isEmpty && alice.ask(invite).reply == ended, "from the store")
        #expect(alice.ask(.get(call)).snapshot?.toCount == 950)
        // A few are kept as they are.
        let few = alice.call(.users(Array(strangers.prefix(16))))
        #expect(world.store.calls[few]?.to == .users(Array(strangers.prefix(16))))
        #expect(world.store.calls[few]?.toCount == nil && world.store.calls[few]?.members == nil)
    }

    @Test("those of a list or group who exist keep the call that reached nobody", arguments: [false, true])
    func nobodyButUsers(isGroup: Bool) {
        let world = World()
        let (alice, bob) = (world.online("alice"), world.asleep("bob", pushable: false))
        let members = handles("nobody", 20) + [bob.user]
        world.administer(.setGroup(CallGroup(name: "desk", strategy: .hunt, members: members)))
        let call = alice.call(isGroup ? .group("desk") : .users(members))
        #expect(world.store.calls[call]?.members == [bob.user] && world.store.calls[call]?.endReason == .noDevices)
        #expect(bob.open().opened?.missed.map(\.call) == [call])
        #expect(bob.ask(.get(call)).snapshot?.role == .callee)
        world.restart()
        bob.open()
        #expect(bob.ask(.get(call)).snapshot?.toCount == (isGroup ? nil : 21))
    }

    @Test("a call that a thousand users miss is stored once, with an event for each of them")
    func missedByMany() {
        let world = World()
        let alice = world.online("alice")
        let phones = (0..<50).map { world.asleep("user\($0)", pushable: false) }
        world.step(.reconfigured(CoreSettings(recordsEvents: true)))
        let call = alice.call(.users(phones.map(\.user)))
        let events = world.store.events[call] ?? []
        let kinds: [EventKind] = [.callInvited, .callEnded] + Array(repeating: EventKind.callMissed, count: 50)
        #expect(events.map(\.kind) == kinds)
        #expect(world.store.calls[call]?.eventCount == 52 && world.violations.isEmpty)
    }

    @Test("the missed calls of one caller take at most half of a user's list from others")
    func missed() {
        var limits = CoreLimits()
        limits.missedPerUser = 10
        let world = World(limits: limits)
        let (alice, mallory) = (world.online("alice"), world.online("mallory"))
        let bob = world.asleep("bob", pushable: false)
        func missed(_ count: Int, from phone: Phone) -> [CallID] {
            (0..<count).map { _ in
                world.advance(.milliseconds(1))
                return phone.call(bob)
            }
        }
        let (others, flood) = (missed(8, from: alice), missed(50, from: mallory))
        let kept = Array(others.suffix(5) + flood.prefix(5))
        #expect(bob.open().opened?.missed.map(\.call) == kept)
        bob.ask(.close)
        world.restart()
        #expect(bob.open().opened?.missed.map(\.call) == kept)
        bob.ask(.close)
        alice.open()
        // Who has less than half takes the place of the oldest, and who has all of it as well.
        let newer = missed(4, from: alice)
        #expect(bob.open().opened?.missed.map(\.call) == Array(kept.suffix(6)) + newer)
        bob.ask(.clearMissed(upTo: world.now))
        bob.ask(.close)
        let own = missed(20, from: alice)
        #expect(bob.open().opened?.missed.map(\.call) == Array(own.suffix(10)))
    }

    // MARK: Memory

    @Test("live calls take a share of the memory for each caller")
    func liveMemory() {
        var limits = CoreLimits()
        limits.callBytesPerUser = 1 << 20
        let (world, alice, bob) = World.pair(limits: limits)
        let carol = world.online("carol")
        let crowd = CallTarget.users([bob.user] + handles("nobody", 950))
        let first = alice.call(crowd)
        #expect(bob.offers(of: first).count == 1)
        #expect(retryAfter(invite(alice, crowd)) == .seconds(1))
        #expect(world.core.counters.hits(of: .callBytesPerUser) == 1)
        #expect(bob.offers(of: carol.call(crowd)).count == 1)
        // An ended call waits for nobody.
        alice.hangUp(first)
        #expect(invite(alice, crowd).code == nil)
    }

    @Test("a caller's ended calls leave memory before one is refused, and those of others stay")
    func endedMemory() throws {
        var limits = CoreLimits()
        limits.callBytesPerUser = 1 << 20
        let (world, alice, bob) = World.pair(limits: limits)
        let carol = world.online("carol")
        let other = carol.call(bob)
        carol.hangUp(other)
        for _ in 0..<500 { alice.hangUp(alice.call(bob)) }
        let caller = try #require(world.core.directory.user(alice.user))
        // A call takes a little more than it was counted with when it began.
        #expect(caller.callBytes < 1 << 20 + 4096)
        #expect(caller.callBytes > 1 << 19)
        #expect(world.core.counters.callsLeftToStore > 0 && world.core.counters.hits(of: .callBytesPerUser) == 0)
        #expect(world.core.calls[other] != nil)
        world.advance(world.timers.tombstone)
        #expect(world.core.calls.isEmpty && caller.callBytes == 0 && caller.endedCalls.isEmpty)
        #expect(world.core.census.deadlines == 0)
    }

    @Test("names that nobody has leave memory before users do")
    func names() {
        var limits = CoreLimits()
        limits.idleUsers = 3
        let world = World(limits: limits)
        let (alice, idle) = (world.online("alice"), (0..<3).map { world.asleep("user\($0)") })
        alice.call(.users(handles("nobody", 100)))
        #expect(idle.allSatisfy { world.core.directory.user($0.user) != nil })
        #expect(world.core.census.idleUsers == 3)
    }

    @Test("handles that nobody has registered are awaited for each caller")
    func awaited() {
        var limits = CoreLimits()
        limits.awaitedHandles = 1000
        let (world, alice, bob) = World.pair(limits: limits)
        let carol = world.online("carol")
        let call = alice.call(.users([bob.user] + handles("a", 150)))
        #expect(world.core.awaitedHandles == 100)
        carol.call(.users([bob.user] + handles("c", 10)))
        #expect(world.core.awaitedHandles == 110)
        alice.hangUp(call)
        #expect(world.core.awaitedHandles == 10 && world.core.awaitedShares.count(of: alice.user) == 0)
    }

    @Test("calls that others place take none of a user's own")
    func calls() {
        var limits = CoreLimits()
        (limits.ringingCallsPerPair, limits.ringingCallsPerCallee) = (1000, 1000)
        let (world, alice, bob) = World.pair(limits: limits)
        let carol = world.online("carol")
        for _ in 0..<world.limits.liveCallsPerUser { alice.call(.users([bob.user, carol.user])) }
        #expect(invite(alice, .user(bob.user)).code == .limitReached(limit: 100))
        #expect(carol.offers(of: bob.call(carol)).count == 1)
    }

    // MARK: Waiting

    @Test("requests that wait for the store leave room for those of others")
    func lookUps() {
        var limits = CoreLimits()
        limits.lookUps = 1000
        let (world, alice, _) = World.pair(limits: limits)
        let carol = world.online("carol")
        world.answersUserLookUps = false
        for name in handles("x", 150) { alice.send(.invite(Invite(call: world.newCall(), to: .user(name)))) }
        #expect(alice.lastAnswer?.code == .overloaded(retryAfter: .seconds(1)) && alice.unanswered == 100)
        carol.send(.invite(Invite(call: world.newCall(), to: .user(Handle("y")!))))
        #expect(carol.unanswered == 1 && world.core.counters.hits(of: .lookUps) == 50)
        world.answerLookUps()
        #expect(alice.unanswered + carol.unanswered == 0 && world.core.lookUpCount == 0)
        #expect(world.core.lookUpShares.count(of: alice.user) == 0)
    }

    @Test("lists of names that the store reads count by their length")
    func longLookUps() {
        let (world, alice, _) = World.pair()
        let carol = world.online("carol")
        world.answersUserLookUps = false
        let calls = (0..<10).map { _ in world.newCall() }
        for (number, call) in calls.enumerated() {
            alice.send(.invite(Invite(call: call, to: .users(handles("x\(number)n", 900)))))
        }
        #expect(alice.lastAnswer?.code == .overloaded(retryAfter: .seconds(1)) && alice.unanswered == 2)
        #expect(world.lookUps.reduce(0) { $0 + $1.wanted.names.count } == 1800)
        carol.send(.invite(Invite(call: world.newCall(), to: .user(Handle("y")!))))
        #expect(carol.unanswered == 1)
        world.answerLookUps()
        #expect(alice.unanswered + carol.unanswered == 0 && world.core.lookUpCount == 0)
        #expect(world.core.lookUpShares.count(of: alice.user) == 0)
        // What waits behind a long list has room.
        let call = world.newCall()
        alice.send(.invite(Invite(call: call, to: .users(handles("z", 1000)))), .get(call))
        #expect(alice.unanswered == 2)
        world.answerLookUps()
        #expect(alice.unanswered == 0)
    }

    @Test("pages of calls that one user reads leave room for those of others")
    func pages() {
        let (world, alice, bob) = World.pair()
        world.holdsPages = true
        for _ in 0..<20 { alice.send(.list(after: nil, limit: 100)) }
        bob.send(.list(after: nil, limit: nil))
        #expect(alice.lastAnswer?.code == .overloaded(retryAfter: .seconds(1)) && alice.unanswered == 16)
        #expect(bob.unanswered == 1 && world.core.counters.hits(of: .lookUps) == 4)
        world.answerPages()
        #expect(alice.unanswered + bob.unanswered == 0 && world.core.historyReads == 0)
        #expect(world.core.historyShares.count(of: alice.user) == 0)
    }

    @Test("calls that one user has brought back from the store leave room for those of others")
    func archive() {
        var limits = CoreLimits()
        (limits.archivedLegs, limits.liveCallsPerUser) = (1000, 1000)
        (limits.ringingCallsPerPair, limits.ringingCallsPerCallee) = (1000, 1000)
        let (world, alice, bob) = World.pair(limits: limits)
        let carol = world.online("carol")
        let calls = (0..<150).map { _ in alice.call(bob) }
        let other = carol.call(bob)
        for call in calls { alice.hangUp(call) }
        carol.hangUp(other)
        world.advance(world.timers.tombstone)
        #expect(calls.count { alice.ask(.get($0)).snapshot != nil } == 100)
        #expect(world.core.counters.hits(of: .archivedLegs) == 50)
        #expect(carol.ask(.get(other)).snapshot != nil)
        world.advance(world.timers.archive)
        #expect(alice.ask(.get(calls[149])).snapshot != nil)
    }

    @Test("calls that one user asks for at once leave room for those of others, where they wait and in memory")
    func archiveAtOnce() {
        var limits = CoreLimits()
        (limits.archivedLegs, limits.liveCallsPerUser) = (1000, 1000)
        (limits.ringingCallsPerPair, limits.ringingCallsPerCallee) = (1000, 1000)
        let world = World(limits: limits)
        let (alice, carol) = (world.online("alice"), world.online("carol"))
        let crowd = CallTarget.users((0..<10).map { world.online("user\($0)").user })
        let calls = (0..<40).map { _ in alice.call(crowd) }
        let other = carol.call(crowd)
        for call in calls { alice.hangUp(call) }
        carol.hangUp(other)
        world.advance(world.timers.tombstone)
        world.answersSearches = false
        for call in calls { alice.send(.get(call)) }
        #expect(alice.lastAnswer?.code == .overloaded(retryAfter: .seconds(1)) && alice.unanswered == 17)
        carol.send(.get(other))
        #expect(carol.unanswered == 1 && world.core.counters.hits(of: .lookUps) == 23)
        world.answerLookUps()
        #expect(alice.unanswered + carol.unanswered == 0 && world.core.lookUpShares.count(of: alice.user) == 0)
        // The share is full with ten calls; the others were asked for before.
        #expect(world.core.archivedShares.count(of: alice.user) == 100)
        #expect(world.core.archivedShares.count(of: carol.user) == 10)
        #expect(world.core.counters.hits(of: .archivedLegs) == 7)
        world.advance(world.timers.archive)
        #expect(world.core.archivedLegs == 0)
    }

    @Test("what a backend looks up counts for the caller for whom it acts")
    func backend() {
        var limits = CoreLimits()
        (limits.archivedLegs, limits.lookUps) = (1000, 1000)
        let world = World(limits: limits)
        let (bob, carol) = (world.online("bob"), world.online("carol"))
        let desk = Handle("desk")!
        func invite(_ to: Handle) -> (call: CallID, request: BackendRequest) {
            let invite = Invite(call: world.newCall(), to: .user(to))
            return (invite.call, .invite(BackendInvite(invite: invite, from: desk, name: nil)))
        }
        let calls = (0..<101).map { _ in
            let (call, request) = invite(bob.user)
            _ = world.ask(request)
            bob.decline(call)
            return call
        }
        world.advance(world.timers.tombstone)
        let found = calls.map { world.ask(.get($0)) }
        #expect(found.count { $0?.reply != nil } == 100 && world.core.archivedShares.count(of: desk) == 100)
        #expect(found.last??.code == .overloaded(retryAfter: .seconds(1)))
        world.answersUserLookUps = false
        for name in handles("x", 150) { _ = world.post(invite(name).request) }
        carol.send(.invite(Invite(call: world.newCall(), to: .user(Handle("y")!))))
        #expect(world.core.counters.hits(of: .lookUps) == 50 && carol.unanswered == 1)
        world.answerLookUps()
        #expect(world.core.lookUpCount == 0 && world.core.lookUpShares.count(of: desk) == 0)
    }

    @Test("who calls again and again leaves a device some alerts about the missed calls of others", arguments: [1, 2])
    func alerts(devices: Int) {
        var policy = UserPolicy()
        policy.missedCalls = .alert
        let world = World(policy: policy)
        let (alice, mallory, other) = (world.online("alice"), world.online("mallory"), world.online("other"))
        let phones = (0..<devices).map { world.asleep("bob", tokens: [.alert("a\($0)")]) }
        // One callee who is online is enough: the call is not refused.
        let target = CallTarget.users([phones[0].user, other.user])
        func missed(_ caller: Phone, _ phone: Phone) -> Int {
            let before = world.notices(to: phone).count
            caller.hangUp(caller.call(target))
            return world.notices(to: phone).count - before
        }
        let pushed = (0..<30).map { _ in missed(mallory, phones[0]) }
        #expect(pushed.reduce(0, +) == world.limits.pushingCallsPerPair)
        #expect(world.core.counters.hits(of: .pushingCallsPerPair) > 0)
        for phone in phones { #expect(missed(alice, phone) == 1) }
        world.advance(world.timers.pushWindow)
        #expect(missed(mallory, phones[0]) == 1)
    }

    @Test("one caller has at most as many pushes about missed calls as about calls, so that a push client has room")
    func noticesOfCaller() {
        var (limits, policy) = (CoreLimits(), UserPolicy())
        limits.pushesPerCaller = 20
        policy.missedCalls = .alert
        let world = World(limits: limits, policy: policy)
        let (alice, carol) = (world.online("alice"), world.online("carol"))
        let phones = (0..<30).map { world.asleep("user\($0)", tokens: [.alert("a\($0)")]) }
        for _ in 0..<2 {
            alice.hangUp(alice.call(.users(phones.map(\.user))))
            #expect(world.core.census.notices == 20)
            world.advance(world.timers.pushWindow)
        }
        carol.hangUp(carol.call(phones[29]))
        #expect(world.core.census.notices == 21)
    }

    @Test("pushes about missed calls leave room for those about the calls of others")
    func notices() {
        var (limits, policy) = (CoreLimits(), UserPolicy())
        limits.notices = 1000
        policy.missedCalls = .alert
        let world = World(limits: limits, policy: policy)
        let (alice, carol) = (world.online("alice"), world.online("carol"))
        let phones = (0..<150).map { world.asleep("user\($0)", tokens: [.alert("a\($0)")]) }
        alice.hangUp(alice.call(.users(phones.map(\.user))))
        #expect(world.core.census.notices == 100 && world.core.counters.hits(of: .notices) == 50)
        carol.hangUp(carol.call(phones[149]))
        #expect(world.core.census.notices == 101)
    }
}
