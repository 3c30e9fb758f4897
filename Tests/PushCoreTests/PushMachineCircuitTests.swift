import CallVocabulary
import PushVocabulary
import Testing

@testable import PushCore

@Suite("The circuit of a credential")
struct PushMachineCircuitTests {
    private static let invalid = PushAnswer.apns(status: 403, body: Array("{\"reason\":\"InvalidProviderToken\"}".utf8))
    private static let unsent = PushOutcome.unsent(reason: "circuit open: InvalidProviderToken")

    /// A machine whose credential was refused to three pushes in a row, at the moment of the third.
    private func openedCircuit(_ change: (inout PushPolicy) -> Void = { _ in }) throws -> MachineBench {
        var bench = MachineBench.ready {
            $0.idlePingAfter = .seconds(100_000)
            $0.connectStagger = .zero
            change(&$0)
        }
        for number in 1...3 as ClosedRange<UInt64> {
            #expect(bench.machine.circuit == .closed)
            try bench.refuseTwice(push(number))
        }
        #expect(bench.machine.circuit.reason == "InvalidProviderToken")
        #expect(bench.machine.counters.circuitsOpened == 1)
        return bench
    }

    private func cooledAt(_ bench: MachineBench) throws -> Instant {
        guard case .open(let until, _) = bench.machine.circuit else {
            throw ExpectationFailed(words: "the circuit is not open: \(bench.machine.circuit)")
        }
        return until
    }

    struct ExpectationFailed: Error { var words: String }

    @Test("two pushes refused twice open nothing, and a success between starts the count over")
    func closed() throws {
        var bench = MachineBench.ready { $0.connectStagger = .zero }
        for (number, isAccepted) in [false, false, true, false, false].enumerated() {
            let id = push(UInt64(number + 1))
            if isAccepted {
                try bench.answer(bench.sendSomehow(id), 200)
            } else {
                try bench.refuseTwice(id)
            }
            #expect(bench.machine.circuit == .closed)
        }
        #expect(bench.machine.credential.failures == 2)
    }

    @Test("where devices choose the service, it takes the pushes of three users, and costs no connection")
    func users() throws {
        var bench = MachineBench.ready { $0.isChosenByDevices = true }
        let bob = try #require(Handle("bob"))
        let carol = try #require(Handle("carol"))
        let dave = try #require(Handle("dave"))
        func refuse(_ id: PushID, of user: Handle) throws {
            try bench.answer(bench.send(id, of: user), Self.invalid)
            bench.letConnect()
            try bench.answer(bench.retransmit(id), Self.invalid)
            #expect(bench.outcomes[id]?.count == 2 && bench.machine.openConnections == 1)
        }
        for number in 1...5 as ClosedRange<UInt64> { try refuse(push(number), of: bob) }
        #expect(bench.machine.circuit == .closed && bench.machine.credential.failures == 1)
        #expect(bench.alarms.count == 1)
        try bench.answer(bench.send(push(6), of: bob), 200)
        for (number, user) in [(7, carol), (8, bob), (9, bob), (10, carol)] as [(UInt64, Handle)] {
            try refuse(push(number), of: user)
        }
        #expect(bench.machine.circuit == .closed && bench.machine.credential.failures == 2)
        #expect(!bench.machine.credential.isBad)
        try refuse(push(11), of: dave)
        #expect(bench.machine.credential.isBad && bench.machine.circuit == .closed)
    }

    @Test(
        "where devices choose the service, however many users' pushes it refuses or leaves without an answer, others' go out",
        arguments: [3, 12, 100], [false, true])
    func refusedUsers(number: Int, isLastUnanswered: Bool) throws {
        var bench = MachineBench.ready { $0.isChosenByDevices = true }
        for number in 0..<number {
            let (id, user) = (push(UInt64(number)), try #require(Handle("mallory\(number)")))
            try bench.answer(bench.send(id, of: user), Self.invalid)
            bench.letConnect()
            try bench.answer(bench.retransmit(id), Self.invalid)
        }
        if isLastUnanswered { _ = try bench.send(push(1000), of: Handle("mallory0")) }
        try bench.answer(bench.send(push(2000), of: Handle("alice")), 200)
        #expect(bench.outcomes[push(2000)] == [.accepted])
        #expect(bench.machine.circuit == .closed && bench.machine.counters.circuitsOpened == 0)
    }

    @Test("with an open circuit what comes waits for the next try, and all of it goes out when that is taken")
    func waits() throws {
        var bench = try openedCircuit()
        let until = try cooledAt(bench)
        #expect((500...1500).contains((until - bench.now).wholeMilliseconds))
        for number in 10...14 as ClosedRange<UInt64> { bench.queue(push(number)) }
        bench.queue(push(15), isUrgent: false)
        #expect(bench.announced == [] && bench.machine.queueDepth == 6)
        #expect(bench.machine.nextDeadline() == until)
        bench.pass(until - bench.now)
        bench.letConnect()
        #expect(bench.machine.circuit == .probing(push(10), reason: "InvalidProviderToken"))
        let place = try bench.retransmit(push(10))
        bench.queue(push(16))
        #expect(bench.announced == [])
        bench.answer(place, 200)
        #expect(bench.machine.circuit == .closed && bench.machine.credential == CredentialHealth())
        #expect(bench.announced == (11...14).map { push($0) } + [push(16), push(15)])
        #expect(bench.machine.counters.unsent == 0)
    }

    @Test("a push waits ten seconds for the credential, and then its caller hears that nothing rings")
    func patience() throws {
        var bench = try openedCircuit { $0.circuitBackoff = Backoff.Limits(base: .seconds(30), cap: .seconds(30)) }
        bench.queue(push(10))
        bench.pass(.seconds(4))
        bench.queue(push(11))
        bench.queue(push(12), ring: .seconds(3))
        bench.pass(.milliseconds(5999))
        #expect(bench.outcomes[push(10)] == nil && bench.outcomes[push(12)] == [.unsent(reason: "expired")])
        bench.pass(.milliseconds(1))
        #expect(bench.outcomes[push(10)] == [Self.unsent] && bench.outcomes[push(11)] == nil)
        bench.pass(.seconds(4))
        #expect(bench.outcomes[push(11)] == [Self.unsent])
        #expect(bench.machine.counters.unsentByCause == [.circuitOpen: 2, .expired: 1])
        #expect(bench.machine.queueDepth == 0)
    }

    @Test("what was announced, was on the wire or was held when it opened waits like the rest")
    func open() throws {
        var bench = MachineBench.ready { $0.connectStagger = .zero }
        let held = try bench.send(push(20), to: device(1))
        bench.answer(held, providerAnswer(429, "TooManyRequests", .deviceThrottled, retryAfter: .seconds(20)))
        bench.queue(push(21), to: device(1))
        for number in 1...2 as ClosedRange<UInt64> { try bench.refuseTwice(push(number)) }
        let onWire = try bench.sendSomehow(push(4))
        let last = try bench.send(push(3))
        bench.queue(push(5))
        #expect(bench.announced == [push(5)])
        bench.answer(last, Self.invalid)
        bench.letConnect()
        try bench.answer(bench.retransmit(push(3)), Self.invalid)
        #expect(!(bench.machine.circuit == .closed))
        bench.give(.cleared(push(5)))
        #expect(bench.effects == [.outcome(push(5), .returned)])
        bench.give(.streamRefused(onWire.connection, stream: onWire.stream))
        #expect(bench.outcomes[push(4)] == [.returned])
        #expect(bench.machine.heldPushes == 1 && bench.machine.queueDepth == 3)
    }

    @Test("a try that is refused doubles the cool-off, up to five seconds, and a success starts it over")
    func failedProbes() throws {
        var bench = try openedCircuit()
        var number: UInt64 = 10
        for wait in [2000, 4000, 5000, 5000] as [Int64] {
            bench.queue(push(number), ring: .seconds(100))
            bench.pass(try cooledAt(bench) - bench.now)
            bench.letConnect()
            try bench.answer(bench.retransmit(push(number)), Self.invalid)
            // It was its first try: it waits for another.
            #expect(bench.outcomes[push(number)] == [.returned])
            bench.give(.dropped(push(number)))
            let left = (try cooledAt(bench) - bench.now).wholeMilliseconds
            #expect((wait / 2 - 10...wait * 3 / 2 + 10).contains(left), "\(wait): \(left)")
            number += 1
        }
        #expect(bench.machine.counters.circuitsOpened == 5)
        bench.queue(push(90))
        bench.pass(try cooledAt(bench) - bench.now)
        bench.letConnect()
        try bench.answer(bench.retransmit(push(90)), 400, "BadDeviceToken")
        #expect(bench.machine.circuit == .closed)
        for number in 91...93 as ClosedRange<UInt64> { try bench.refuseTwice(push(number)) }
        #expect(try cooledAt(bench) - bench.now <= .milliseconds(1500))
    }

    @Test("a call whose first try opened the circuit again goes out with the next that is taken")
    func probeTriesAgain() throws {
        var bench = try openedCircuit()
        bench.queue(push(10))
        bench.queue(push(11))
        for attempt in 1...2 {
            bench.pass(try cooledAt(bench) - bench.now)
            bench.letConnect()
            let place = try bench.retransmit(push(10))
            bench.answer(place, attempt == 1 ? Self.invalid : PushAnswer.apns(status: 200, body: []))
        }
        #expect(bench.outcomes[push(10)] == [.returned, .accepted])
        #expect(bench.announced == [push(11)])
    }

    @Test(
        "a probe that leaves without a word on the credential makes room for the next",
        arguments: ["dropped", "expired", "lost", "faulty"])
    func inconclusiveProbe(_ how: String) throws {
        var bench = try openedCircuit()
        bench.queue(push(11))
        bench.pass(try cooledAt(bench) - bench.now)
        bench.letConnect()
        switch how {
        case "dropped": bench.give(.dropped(push(11)))
        case "expired": bench.pass(.seconds(45))
        default:
            let place = try bench.retransmit(push(11))
            if how == "lost" {
                bench.give(.streamLost(place.connection, stream: place.stream, reason: "x"))
            } else {
                bench.answer(place, 400, "PayloadEmpty")
            }
        }
        #expect(!bench.machine.contains(push(11)))
        bench.queue(push(12))
        bench.letConnect()
        #expect(bench.machine.circuit == .probing(push(12), reason: "InvalidProviderToken"))
        #expect(bench.announced == [push(12)])
    }

    @Test("a notice that is put off for a quarter of an hour is the probe no more")
    func heldProbe() throws {
        var bench = try openedCircuit()
        bench.queue(push(11), ring: .seconds(3600), isUrgent: false)
        bench.pass(try cooledAt(bench) - bench.now)
        bench.letConnect()
        try bench.answer(bench.retransmit(push(11)), 503, "ServiceUnavailable")
        #expect(bench.outcomes[push(11)] == [.returned])
        #expect(bench.machine.heldPushes == 1)
        bench.queue(push(12))
        #expect(bench.announced == [push(12)])
        #expect(bench.machine.circuit == .probing(push(12), reason: "InvalidProviderToken"))
    }

    @Test("what was on the wire when it opened neither doubles the cool-off nor is the probe's answer")
    func onWire() throws {
        var bench = MachineBench.ready { $0.connectStagger = .zero }
        for number in 1...3 as ClosedRange<UInt64> { bench.queue(push(number)) }
        var places: [MachineBench.Place] = []
        for number in 1...3 as ClosedRange<UInt64> { places.append(try bench.resend(push(number))) }
        for place in places { bench.answer(place, Self.invalid) }
        bench.letConnect()
        let later = try (4...6 as ClosedRange<UInt64>).map { try bench.send(push($0)) }
        places = []
        for number in 1...3 as ClosedRange<UInt64> { places.append(try bench.resend(push(number))) }
        for place in places { bench.answer(place, Self.invalid) }
        let until = try cooledAt(bench)
        for place in later { bench.answer(place, Self.invalid) }
        #expect(try cooledAt(bench) == until)
        #expect(bench.machine.counters.circuitsOpened == 1)
    }

    @Test("a clock that is wrong opens it too")
    func clock() throws {
        var bench = MachineBench.ready { $0.connectStagger = .zero }
        for number in 1...3 as ClosedRange<UInt64> {
            try bench.refuseTwice(push(number), "ExpiredProviderToken")
        }
        #expect(bench.machine.circuit.reason == "ExpiredProviderToken")
        #expect(bench.machine.credential.cause == .clockSkew)
    }
}

@Suite("The first refusal of a credential")
struct FirstRefusalTests {
    static let refusals: [PushAnswer] =
        [
            "InvalidProviderToken", "MissingProviderToken", "ExpiredProviderToken", "Forbidden", "BadCertificate",
            "BadCertificateEnvironment", "UnrelatedKeyIdInToken", "BadEnvironmentKeyIdInToken", "",
        ].map { PushAnswer.apns(status: 403, body: Array("{\"reason\":\"\($0)\"}".utf8)) }

    @Test(
        "costs no call at any age of the token: one more token, one more connection, one more try", arguments: refusals)
    func signed(_ refusal: PushAnswer) throws {
        for age in [Duration.zero, .seconds(60), .seconds(19 * 60), .seconds(21 * 60), .seconds(49 * 60)] {
            var bench = MachineBench.ready { $0.idlePingAfter = .seconds(100_000) }
            bench.pass(age)
            try bench.answer(bench.send(push(1)), refusal)
            #expect(bench.outcomes[push(1)] == [.returned])
            #expect(bench.signed == [2])
            #expect(bench.machine.openConnections == 0)
            bench.letConnect()
            #expect(bench.announced == [push(1)])
            bench.give(.cleared(push(1)))
            #expect(bench.effects == [.submit(connection(1), push(1), tokenGeneration: 2)])
            let again = bench.carryOutSubmit(of: push(1))
            bench.answer(try #require(again), 200)
            #expect(bench.outcomes[push(1)] == [.returned, .accepted])
            #expect(bench.machine.credential == CredentialHealth() && bench.machine.circuit == .closed)
            #expect(!bench.alarms.contains { $0.kind == .credentialRefused || $0.kind == .clockSkew })
        }
    }

    @Test("another token is signed early once in twenty minutes, and in between the same one is tried elsewhere")
    func earlyOnce() throws {
        var bench = MachineBench.ready { $0.idlePingAfter = .seconds(100_000) }
        for (number, generation) in [(1, 2), (2, 2), (3, 3)] as [(UInt64, Int)] {
            if number == 3 { bench.pass(.seconds(20 * 60)) }
            let place = try bench.send(push(number))
            bench.answer(place, Self.refusals[0])
            bench.letConnect()
            bench.give(.cleared(push(number)))
            guard case .submit(let id, _, generation)? = bench.effects.first else {
                Issue.record("push \(number): \(bench.effects)")
                return
            }
            #expect(id != place.connection)
            let again = bench.carryOutSubmit(of: push(number))
            bench.answer(try #require(again), 200)
        }
        #expect(bench.machine.counters.tokensSigned == 3 && bench.machine.counters.rejected == 0)
    }

    @Test("connections that have carried the old token carry no token signed early: they would refuse it")
    func newConnections() throws {
        var bench = MachineBench.ready(streamLimit: 1) { $0.connectStagger = .zero }
        let first = try bench.send(push(1))
        bench.queue(push(2))
        bench.give(.opened(connection(1), streamLimit: 10))
        let second = try bench.resend(push(2))
        bench.answer(first, Self.refusals[0])
        #expect(bench.effects.contains(.close(connection(0))))
        bench.queue(push(3))
        bench.letConnect()
        for id in [push(1), push(3)] {
            let place = try bench.resend(id)
            #expect(place.connection.serial >= 2)
        }
        // What is on the wire there is awaited.
        bench.answer(second, 200)
        #expect(bench.outcomes[push(2)] == [.accepted])
        #expect(bench.effects.contains(.close(connection(1))))
    }

    @Test(
        "all that was on the wire with the refused token goes out once more, with one new token, and opens no circuit")
    func together() throws {
        var bench = MachineBench.ready { $0.connectStagger = .zero }
        let places = try (1...16 as ClosedRange<UInt64>).map { try bench.send(push($0)) }
        for place in places { bench.answer(place, Self.refusals[0]) }
        bench.letConnect()
        for number in 1...16 as ClosedRange<UInt64> {
            try bench.answer(bench.resend(push(number)), 200)
        }
        #expect(bench.machine.counters.accepted == 16 && bench.machine.counters.tokensSigned == 2)
        #expect(bench.machine.circuit == .closed)
    }

    @Test("a certificate is shown once more, on another connection", arguments: refusals)
    func certificate(_ refusal: PushAnswer) throws {
        var bench = MachineBench { $0.credential = .certificate }
        bench.queue(push(1))
        bench.letConnect()
        for connectionNumber in [UInt64(0), 1] {
            let place = try bench.resend(push(1))
            #expect(place.connection == connection(connectionNumber))
            bench.answer(place, refusal)
            bench.letConnect()
        }
        #expect(bench.outcomes[push(1)] == [.returned, .rejected(reason: refusal.reason, isTokenDead: false)])
        #expect(bench.machine.credential.failures == 1)
    }

    @Test(
        "an access token is fetched anew, however young, and the push goes out on the same connection",
        arguments: [
            (401, "UNAUTHENTICATED"), (403, "PERMISSION_DENIED"), (401, ""), (403, ""),
        ])
    func fetched(_ row: (status: Int, code: String)) throws {
        let body = Array(#"{"error":{"status":"\#(row.code)"}}"#.utf8)
        var bench = MachineBench { $0.credential = .fetchedToken }
        bench.queue(push(1))
        bench.letConnect()
        try bench.answer(bench.resend(push(1)), PushAnswer.fcm(status: row.status, body: body))
        #expect(bench.signed == [2])
        #expect(bench.outcomes[push(1)] == [.returned])
        bench.letConnect()
        bench.give(.cleared(push(1)))
        #expect(bench.effects == [.submit(connection(0), push(1), tokenGeneration: 2)])
        let again = bench.carryOutSubmit(of: push(1))
        bench.answer(try #require(again), 200)
        #expect(bench.machine.credential == CredentialHealth())
    }

    @Test("FCM's own key for APNs, refused once, costs no alert, and refused twice leaves our credential alone")
    func relay() throws {
        let detail =
            #"{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"THIRD_PARTY_AUTH_ERROR"}"#
        let answer = PushAnswer.fcm(status: 401, body: Array(#"{"error":{"details":[\#(detail)]}}"#.utf8))
        for isRepeated in [false, true] {
            var bench = MachineBench { $0.credential = .fetchedToken }
            bench.queue(push(1))
            bench.letConnect()
            try bench.answer(bench.resend(push(1)), answer)
            bench.letConnect()
            let again = try bench.resend(push(1))
            isRepeated ? bench.answer(again, answer) : bench.answer(again, 200)
            let last = PushOutcome.rejected(reason: "THIRD_PARTY_AUTH_ERROR", isTokenDead: false)
            #expect(bench.outcomes[push(1)] == [.returned, isRepeated ? last : .accepted])
            #expect(bench.machine.credential == CredentialHealth() && bench.machine.counters.tokensSigned == 1)
        }
    }
}

@Suite("Kinds of credential")
struct PushMachineCredentialTests {
    private func fetching() -> MachineBench {
        MachineBench {
            $0.credential = .fetchedToken
            $0.connectStagger = .seconds(100_000)
            $0.idlePingAfter = .seconds(100_000)
        }
    }

    @Test("with a certificate a push is announced as soon as a connection stands, and sent with generation 0")
    func certificate() {
        var bench = MachineBench { $0.credential = .certificate }
        bench.queue(push(1))
        #expect(bench.effects == [.open(connection(0))])
        bench.give(.opened(connection(0), streamLimit: 10))
        #expect(bench.announced == [push(1)])
        bench.give(.cleared(push(1)))
        #expect(bench.effects == [.submit(connection(0), push(1), tokenGeneration: 0)])
    }

    @Test("a fetch that fails leaves pushes waiting, is tried again later, and serves them when it succeeds")
    func failedFetch() throws {
        var bench = fetching()
        bench.queue(push(1))
        #expect(bench.effects.contains(.signProviderToken(generation: 1, issuedAt: bench.now)))
        bench.give(.opened(connection(0), streamLimit: 10))
        bench.give(.providerTokenFailed(generation: 1, reason: "503"))
        #expect(bench.effects == [.alarm(.signingFailed(reason: "503"))])
        #expect(bench.outcomes.isEmpty)
        bench.pass(.milliseconds(499))
        #expect(bench.effects == [])
        bench.pass(.milliseconds(1001))
        let signings = bench.effects.compactMap { if case .signProviderToken = $0 { true } else { nil } }
        #expect(signings.count == 1)
        bench.give(.providerTokenSigned(generation: 1, expiresAt: bench.now + .seconds(3600)))
        #expect(bench.announced == [push(1)])
        #expect(bench.machine.counters.tokensFailed == 1)
        #expect(bench.machine.counters.tokensSigned == 1)
        #expect(bench.machine.circuit == .closed)
    }

    @Test("a renewal that fails is not tried again at once, even while pushes wait for a stream")
    func failedRenewal() throws {
        var bench = MachineBench.ready { $0.idlePingAfter = .seconds(100_000) }
        bench.pass(.seconds(50 * 60))
        bench.give(.streamLimitChanged(connection(0), 0))
        bench.queue(push(1))
        #expect(bench.effects.first == .signProviderToken(generation: 2, issuedAt: bench.now))
        bench.give(.providerTokenFailed(generation: 2, reason: "x"))
        #expect(bench.effects == [.alarm(.signingFailed(reason: "x"))])
        bench.pass(.milliseconds(1500))
        bench.queue(push(2))
        #expect(bench.effects == [.signProviderToken(generation: 2, issuedAt: bench.now)])
        #expect(bench.outcomes.isEmpty)
    }

    @Test("the probe of a circuit does not have a token signed again and again")
    func failedSigningOfProbe() throws {
        var bench = MachineBench.ready {
            $0.idlePingAfter = .seconds(100_000)
            $0.connectStagger = .zero
        }
        for number in 1...3 as ClosedRange<UInt64> { try bench.refuseTwice(push(number)) }
        #expect(bench.machine.circuit != .closed)
        bench.pass(.seconds(58 * 60))
        bench.queue(push(4))
        #expect(bench.effects.first == .signProviderToken(generation: 3, issuedAt: bench.now))
        bench.give(.providerTokenFailed(generation: 3, reason: "x"))
        #expect(
            bench.effects == [
                .alarm(.signingFailed(reason: "x")), .outcome(push(4), .unsent(reason: "no provider token: x")),
            ])
    }

    @Test("with no token to be had, a push ends with its ring, and fetches stay bounded")
    func noToken() {
        var bench = fetching()
        bench.queue(push(1))
        var fetches = 0
        while bench.machine.contains(push(1)), fetches < 100 {
            for case .signProviderToken(let generation, _) in bench.effects {
                fetches += 1
                bench.give(.providerTokenFailed(generation: generation, reason: "x"))
            }
            guard let next = bench.machine.nextDeadline() else { break }
            bench.pass(next - bench.now)
        }
        #expect(bench.outcomes[push(1)] == [.unsent(reason: "expired")])
        #expect((4...9).contains(fetches))
    }

    @Test("a token is fetched anew before its end, and the old one serves meanwhile, but not to the very end")
    func refresh() throws {
        var bench = fetching()
        bench.queue(push(1), ring: .seconds(10_000))
        bench.give(.providerTokenSigned(generation: 1, expiresAt: bench.now + .seconds(3600)))
        bench.give(.opened(connection(0), streamLimit: 10))
        try bench.answer(bench.retransmit(push(1)), 200)
        bench.pass(.seconds(3300))
        bench.queue(push(2))
        #expect(bench.effects == [.signProviderToken(generation: 2, issuedAt: bench.now), .ready(push(2))])
        bench.give(.dropped(push(2)))
        bench.pass(.seconds(290))
        bench.queue(push(3))
        #expect(bench.effects == [])
        bench.give(.providerTokenSigned(generation: 2, expiresAt: bench.now + .seconds(3600)))
        #expect(bench.announced == [push(3)])
    }

    @Test("a token that ends while pushes wait is replaced without another push coming")
    func endsWhileWaiting() throws {
        var bench = fetching()
        bench.queue(push(1), ring: .seconds(10_000))
        bench.give(.providerTokenSigned(generation: 1, expiresAt: bench.now + .seconds(100)))
        bench.give(.opened(connection(0), streamLimit: 0))
        bench.pass(.seconds(95))
        #expect(bench.effects.contains { if case .signProviderToken(2, _) = $0 { true } else { false } })
    }

    @Test("an access token that has expired when it comes is a failure and is not fetched in a loop")
    func stillborn() {
        var bench = fetching()
        bench.queue(push(1))
        bench.give(.opened(connection(0), streamLimit: 10))
        bench.give(.providerTokenSigned(generation: 1, expiresAt: bench.now))
        #expect(bench.announced == [])
        #expect(bench.effects.count == 1)
        #expect(bench.machine.counters.tokensSigned == 0)
        #expect(bench.machine.counters.tokensFailed == 1)
    }
}
