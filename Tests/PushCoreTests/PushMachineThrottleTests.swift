import CallVocabulary
import PushVocabulary
import Testing

@testable import PushCore

@Suite("Too many pushes")
struct PushMachineThrottleTests {
    private static let tooMany = PushAnswer.apns(status: 429, body: Array("{\"reason\":\"TooManyRequests\"}".utf8))

    /// Sends a push to the device, and has it refused as too many.
    private func throttle(_ bench: inout MachineBench, _ id: PushID, to token: PushToken) throws {
        try bench.answer(bench.send(id, to: token), Self.tooMany)
        #expect(bench.outcomes[id] == [.rejected(reason: "TooManyRequests", isTokenDead: false)])
    }

    @Test("a device that got too many is left alone for a moment, and holds up no other")
    func heldAside() throws {
        var bench = MachineBench.ready()
        try throttle(&bench, push(1), to: device(1))
        #expect(bench.machine.throttledDevices == 1)
        bench.queue(push(2), to: device(1))
        #expect(bench.effects == [])
        #expect(bench.machine.queueDepth == 1)
        #expect(bench.machine.heldPushes == 1)
        #expect(bench.machine.oldestWaiting == nil)
        bench.queue(push(3), to: device(2))
        #expect(bench.announced == [push(3)])
        bench.queue(push(4))
        #expect(bench.announced == [push(4)])
        bench.pass(.milliseconds(499))
        #expect(bench.announced == [])
        bench.pass(.milliseconds(1001))
        #expect(bench.announced == [push(2)])
        #expect(bench.machine.heldPushes == 0)
        let place = try bench.resend(push(2))
        bench.answer(place, 200)
        #expect(bench.machine.throttledDevices == 0)
        bench.queue(push(5), to: device(1))
        #expect(bench.announced == [push(5)])
    }

    @Test("the wait doubles with each refusal in a row, and starts over after an accepted push")
    func doubling() throws {
        var bench = MachineBench.ready { $0.idlePingAfter = .seconds(100_000) }
        var number: UInt64 = 1
        for wait in [1, 2, 4, 8, 16, 32, 60, 60] as [Int64] {
            try throttle(&bench, push(number), to: device(1))
            let began = bench.now
            bench.queue(push(number + 1), ring: .seconds(1000), to: device(1))
            let due = try #require(bench.machine.nextDeadline())
            #expect((wait * 500...wait * 1500).contains((due - began).wholeMilliseconds))
            bench.pass(due - bench.now)
            let place = try bench.retransmit(push(number + 1))
            bench.give(.streamLost(place.connection, stream: place.stream, reason: "x"))
            number += 2
        }
        try bench.answer(bench.send(push(number), to: device(1)), 200)
        try throttle(&bench, push(number + 1), to: device(1))
        bench.queue(push(number + 2), to: device(1))
        #expect(try #require(bench.machine.nextDeadline()) - bench.now <= .milliseconds(1500))
    }

    @Test("pushes that were on the wire together are one setback, not many")
    func oneSetback() throws {
        var bench = MachineBench.ready()
        let places = try (1...5 as ClosedRange<UInt64>).map { try bench.send(push($0), to: device(1)) }
        for place in places { bench.answer(place, Self.tooMany) }
        bench.queue(push(9), to: device(1))
        bench.pass(.milliseconds(1500))
        #expect(bench.announced == [push(9)])
    }

    @Test("the provider's own word on how long goes before ours, up to a bound")
    func retryAfter() throws {
        for (asked, waits) in [(20, 20), (100_000, 60)] {
            var bench = MachineBench.ready { $0.idlePingAfter = .seconds(100_000) }
            let place = try bench.send(push(1), to: device(1))
            bench.answer(place, providerAnswer(429, "X", .deviceThrottled, retryAfter: .seconds(asked)))
            bench.queue(push(2), ring: .seconds(5000), to: device(1))
            #expect(bench.machine.nextDeadline() == bench.now + .seconds(waits))
        }
    }

    @Test("a call that its device's hold would outlast is given up at once, and one that waits in vain says why")
    func expiry() throws {
        var bench = MachineBench.ready()
        let place = try bench.send(push(1), to: device(1))
        bench.answer(place, providerAnswer(429, "X", .deviceThrottled, retryAfter: .seconds(30)))
        bench.queue(push(2), to: device(1))
        bench.queue(push(3), to: device(1))
        bench.give(.dropped(push(3)))
        // A phone that is woken with less left of the ring does not ring; a notice may come at the last moment.
        let late = PushOutcome.unsent(
            reason: "this device got too many pushes, and is left alone until after the push's time")
        for (number, ring, isUrgent, outcome) in [
            (4, 20, true, late), (5, 32, true, late), (6, 33, true, nil), (7, 31, false, nil), (8, 30, false, late),
        ] as [(UInt64, Int, Bool, PushOutcome?)] {
            bench.queue(push(number), ring: .seconds(ring), to: device(1), isUrgent: isUrgent)
            #expect(bench.outcomes[push(number)] == outcome.map { [$0] }, "\(number)")
        }
        #expect(bench.machine.heldPushes == 3)
        bench.give(.streamLimitChanged(connection(0), 0))
        bench.pass(.seconds(60))
        #expect(bench.outcomes[push(2)] == [.unsent(reason: "expired after too many pushes to this device")])
        #expect(bench.outcomes[push(3)] == nil)
        #expect(bench.machine.queueDepth == 0)
        #expect(bench.machine.counters.unsentByCause == [.expired: 3, .deviceThrottled: 3])
    }

    @Test("a push announced before its device was refused another is given back and held")
    func announcedBefore() throws {
        var bench = MachineBench.ready()
        let place = try bench.send(push(1), to: device(1))
        bench.queue(push(2), to: device(1))
        #expect(bench.announced == [push(2)])
        bench.answer(place, Self.tooMany)
        bench.give(.cleared(push(2)))
        #expect(bench.effects == [.outcome(push(2), .returned)])
        #expect(bench.machine.heldPushes == 1)
    }

    @Test("only so many pushes wait for one device; the count goes down with those that leave")
    func heldBound() throws {
        var bench = MachineBench.ready { $0.heldPerDevice = 2 }
        try throttle(&bench, push(1), to: device(1))
        for number in 2...4 as ClosedRange<UInt64> { bench.queue(push(number), to: device(1)) }
        #expect(bench.outcomes[push(4)] == [.unsent(reason: "too many pushes wait for this device")])
        #expect(bench.machine.counters.unsentByCause == [.deviceThrottled: 1])
        bench.give(.dropped(push(3)))
        bench.queue(push(5), to: device(1))
        #expect(bench.outcomes[push(5)] == nil)
        #expect(bench.machine.heldPushes == 2)
    }

    @Test("only so many devices are remembered, and none for ever")
    func memory() throws {
        var bench = MachineBench.ready { $0.throttledDevices = 3 }
        for number in 1...5 { try throttle(&bench, push(UInt64(number)), to: device(number)) }
        #expect(bench.machine.throttledDevices == 3)
        bench.queue(push(10), to: device(5))
        #expect(bench.announced == [])
        bench.give(.dropped(push(10)))
        bench.pass(.seconds(3600))
        #expect(bench.machine.throttledDevices == 0)
    }

    // MARK: Nobody's quota

    private static func unclear(_ seconds: Int?) -> PushAnswer {
        PushAnswer.fcm(
            status: 429, body: Array(#"{"error":{"status":"RESOURCE_EXHAUSTED"}}"#.utf8),
            retryAfter: seconds.map { .seconds($0) })
    }

    @Test("a quota that the answer gives to nobody holds its own push and device, and all others go on")
    func unclearQuota() throws {
        var bench = MachineBench.ready()
        try bench.answer(bench.send(push(1), to: device(1)), Self.unclear(30))
        #expect(bench.outcomes[push(1)] == [.returned] && bench.machine.throttledUntil == nil)
        for number in 2...40 {
            try bench.answer(bench.send(push(UInt64(number)), to: device(number)), 200)
        }
        bench.queue(push(50), to: device(1))
        #expect(bench.announced == [])
        bench.pass(.milliseconds(29_999))
        #expect(bench.announced == [])
        bench.pass(.milliseconds(1))
        #expect(Set(bench.announced) == [push(1), push(50)])
        try bench.answer(bench.resend(push(1)), 200)
        #expect(bench.outcomes[push(1)] == [.returned, .accepted])
        #expect(bench.machine.counters.accepted == 40)
    }

    @Test("a call that may not wait for so long ends at once, and so does one that is refused a second time")
    func unclearQuotaTooLong() throws {
        var bench = MachineBench.ready()
        let end = PushOutcome.rejected(reason: "RESOURCE_EXHAUSTED", isTokenDead: false)
        try bench.answer(bench.send(push(1), ring: .seconds(31), to: device(1)), Self.unclear(30))
        #expect(bench.outcomes[push(1)] == [end])
        try bench.answer(bench.send(push(2), to: device(2)), Self.unclear(5))
        bench.pass(.seconds(5))
        try bench.answer(bench.retransmit(push(2)), Self.unclear(5))
        #expect(bench.outcomes[push(2)] == [.returned, end])
    }

    @Test(
        "refused to three devices in a row it is the account's: nothing goes for a second, and one that is taken ends it"
    )
    func unclearQuotaOfAll() throws {
        var bench = MachineBench.ready()
        let wire = try (1...4).map { try bench.send(push(UInt64($0)), to: device($0)) }
        for (number, place) in wire.prefix(3).enumerated() {
            #expect(bench.machine.throttledUntil == nil, "\(number)")
            bench.answer(place, Self.unclear(30))
        }
        let until = try #require(bench.machine.throttledUntil)
        #expect((500...1500).contains((until - bench.now).wholeMilliseconds))
        bench.queue(push(5), to: device(5))
        #expect(bench.announced == [])
        bench.answer(wire[3], 200)
        #expect(bench.machine.throttledUntil == nil && bench.announced == [push(5)])
    }

    @Test("devices of one user are not the account, however many are refused; those of three users are")
    func oneUserIsNotAll() throws {
        var bench = MachineBench.ready()
        let users = Array(repeating: "mallory", count: 6) + ["alice", "bob"]
        let wire = try users.enumerated().map { number, user in
            try bench.send(push(UInt64(number)), to: device(number), of: Handle(user))
        }
        for place in wire {
            #expect(bench.machine.throttledUntil == nil)
            bench.answer(place, Self.unclear(30))
        }
        #expect(bench.machine.throttledUntil != nil)
    }

    private static let victim = push(1_000_000)

    /// Submits what was announced, and what that leads to, until the victim's push is accepted. All others are throttled.
    private func serve(_ announced: inout [PushID], on bench: inout MachineBench) {
        while !announced.isEmpty, bench.outcomes[Self.victim] == nil {
            let next = announced.removeFirst()
            bench.give(.cleared(next))
            announced += bench.announced
            guard let place = bench.carryOutSubmit(of: next) else { continue }
            bench.answer(place, next == Self.victim ? providerAnswer(201, "", .accepted) : Self.unclear(nil))
            announced += bench.announced
        }
    }

    /// Queues a push to the victim, which must go out and be accepted within two seconds.
    private func expectVictim(_ user: Handle?, _ announced: [PushID], on bench: inout MachineBench) {
        var announced = announced
        bench.queue(Self.victim, to: device(1_000_000), of: user)
        announced += bench.announced
        for _ in 0..<200 where bench.outcomes[Self.victim] == nil {
            serve(&announced, on: &bench)
            bench.pass(.milliseconds(10))
            announced += bench.announced
        }
        #expect(bench.outcomes[Self.victim] == [.accepted])
        #expect(bench.machine.throttledUntil == nil)
    }

    /// The users whose devices are throttled.
    enum Accounts: CaseIterable, Sendable {
        /// The same ones again and again.
        case old
        case new
        /// Pushes to them were accepted before.
        case proven
    }

    @Test(
        "pushes to others go out within two seconds, however many users' devices are throttled, old ones or new ones",
        arguments: [3, 12, 100, 300, 640], Accounts.allCases)
    func manyUsersAreNotAll(users: Int, accounts: Accounts) throws {
        var bench = MachineBench.ready(streamLimit: 1000) {
            $0.isChosenByDevices = true
            $0.idlePingAfter = .seconds(100_000)
        }
        for user in 0..<users where accounts == .proven {
            let place = try bench.send(push(UInt64(10_000 + user)), to: device(user), of: Handle("mallory\(user)"))
            bench.answer(place, 200)
        }
        let alice = Handle("alice")
        try bench.answer(bench.send(push(20_000), to: device(1_000_000), of: alice), 200)
        var announced: [PushID] = []
        for wave in 0..<4 {
            for user in 0..<users {
                let number = 1000 * wave + user
                let name = accounts == .new ? "mallory\(number)" : "mallory\(user)"
                bench.queue(push(UInt64(number)), to: device(number), of: Handle(name))
                announced += bench.announced
            }
            serve(&announced, on: &bench)
            guard wave < 3, accounts != .proven else { break }
            // Until the end of each backoff, in which their pushes expire.
            bench.pass(.seconds(100))
            announced = []
        }
        expectVictim(alice, announced, on: &bench)
    }

    @Test(
        "a user who was never pushed to does not wait for all new users who came before",
        arguments: [3, 12, 100, 300, 640], [3, 1000])
    func newestIsProbed(users: Int, streams: Int) {
        var bench = MachineBench.ready(streamLimit: streams) { $0.isChosenByDevices = true }
        var announced: [PushID] = []
        for user in 0..<users {
            bench.queue(push(UInt64(user)), to: device(user), of: Handle("mallory\(user)"))
            announced += bench.announced
        }
        serve(&announced, on: &bench)
        #expect(bench.machine.throttledUntil != nil)
        expectVictim(Handle("alice"), announced, on: &bench)
    }

    @Test("while the account's quota is assumed, a user with a throttled device waits, and the others probe one by one")
    func probesOfQuota() throws {
        var bench = MachineBench.ready()
        let users = try (1...5).map { try #require(Handle("u\($0)")) }
        for number in 1...3 {
            try bench.answer(bench.send(push(UInt64(number)), to: device(number), of: users[number]), Self.unclear(30))
        }
        #expect(bench.machine.throttledUntil != nil)
        bench.queue(push(4), to: device(4), of: users[1])
        bench.queue(push(5), to: device(5), of: users[0])
        bench.queue(push(6), to: device(6), of: users[4])
        #expect(bench.announced == [])
        bench.pass(.milliseconds(10))
        #expect(bench.announced == [push(5)])
        bench.pass(.milliseconds(10))
        #expect(bench.announced == [push(6)])
        bench.pass(.milliseconds(100))
        #expect(bench.announced == [])
        try bench.answer(bench.resend(push(5)), 200)
        #expect(bench.machine.throttledUntil == nil && bench.announced == [push(4)])
    }

    @Test("one device that is called again and again is not the account")
    func oneDeviceIsNotAll() throws {
        var bench = MachineBench.ready { $0.idlePingAfter = .seconds(100_000) }
        for number in 1...9 as ClosedRange<UInt64> {
            try bench.answer(bench.send(push(number), ring: .seconds(2), to: device(1)), Self.unclear(nil))
            #expect(bench.machine.throttledUntil == nil)
            bench.pass(.seconds(100))
        }
    }

    // MARK: The whole account

    @Test(
        "calls that the account's quota would outlast are given up as soon as that is known, those that come later too")
    func quotaTooLong() throws {
        var bench = MachineBench.ready(streamLimit: 2) {
            $0.connectStagger = .seconds(1000)
            $0.pingAfter = .seconds(1000)
            $0.requestTimeout = .seconds(1000)
        }
        let first = try bench.send(push(1))
        let second = try bench.send(push(2))
        bench.queue(push(3), ring: .seconds(20))
        bench.queue(push(4), ring: .seconds(33))
        bench.queue(push(5), ring: .seconds(20), isUrgent: false)
        bench.answer(first, providerAnswer(429, "QUOTA_EXCEEDED", .providerThrottled, retryAfter: .seconds(30)))
        let late = PushOutcome.unsent(reason: PushMachine.quotaReason)
        #expect(bench.outcomes[push(1)] == [.returned])
        #expect(bench.outcomes[push(3)] == [late] && bench.outcomes[push(5)] == [late])
        bench.queue(push(6), ring: .seconds(31))
        #expect(bench.outcomes[push(6)] == [late])
        // What comes back meanwhile as well.
        bench.pass(.seconds(20))
        bench.give(.streamRefused(second.connection, stream: second.stream))
        #expect(bench.outcomes[push(2)] == [.returned])
        #expect(bench.machine.counters.unsentByCause == [.quotaExceeded: 3])
        bench.pass(.seconds(10))
        #expect(bench.announced.contains(push(1)))
    }

    @Test("a quota that is used up makes everything wait, and the push that found out goes first when it is over")
    func quota() throws {
        var bench = MachineBench.ready()
        let places = try (1...2 as ClosedRange<UInt64>).map { try bench.send(push($0)) }
        bench.queue(push(3))
        for place in places {
            bench.answer(place, providerAnswer(429, "QUOTA_EXCEEDED", .providerThrottled, retryAfter: .seconds(5)))
        }
        #expect(bench.outcomes == [push(1): [.returned], push(2): [.returned]])
        #expect(bench.machine.throttledUntil == bench.now + .seconds(5))
        bench.give(.cleared(push(3)))
        #expect(bench.outcomes[push(3)] == [.returned])
        bench.queue(push(4))
        bench.pass(.milliseconds(4999))
        #expect(bench.announced == [])
        bench.pass(.milliseconds(1))
        #expect(bench.announced == [push(1), push(2), push(3), push(4)])
        let again = try bench.resend(push(1))
        bench.answer(again, providerAnswer(429, "QUOTA_EXCEEDED", .providerThrottled))
        #expect(bench.outcomes[push(1)]?.last == .rejected(reason: "QUOTA_EXCEEDED", isTokenDead: false))
    }

    @Test("the quota's wait doubles with each time in a row, and one alarm is raised for each")
    func quotaBackoff() throws {
        var bench = MachineBench.ready { $0.idlePingAfter = .seconds(100_000) }
        for (number, wait) in zip(1...8 as ClosedRange<UInt64>, [1, 2, 4, 8, 16, 32, 60, 60] as [Int64]) {
            let place = try bench.send(push(number), ring: .seconds(1))
            let twin = try bench.send(push(number + 100), ring: .seconds(1))
            bench.answer(place, providerAnswer(429, "QUOTA_EXCEEDED", .providerThrottled))
            #expect(bench.effects.first == .alarm(.providerThrottled(reason: "QUOTA_EXCEEDED")))
            bench.answer(twin, providerAnswer(429, "QUOTA_EXCEEDED", .providerThrottled))
            #expect(!bench.effects.contains(.alarm(.providerThrottled(reason: "QUOTA_EXCEEDED"))))
            let until = try #require(bench.machine.throttledUntil)
            #expect((wait * 500...wait * 1500).contains((until - bench.now).wholeMilliseconds))
            bench.pass(.seconds(100))
        }
    }
}
