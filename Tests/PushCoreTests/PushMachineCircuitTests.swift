import CallVocabulary
import Testing

@testable import PushCore

@Suite("The circuit of a credential")
struct PushMachineCircuitTests {
    private static let invalid = PushAnswer.apns(status: 403, body: Array("{\"reason\":\"InvalidProviderToken\"}".utf8))
    private static let unsent = PushOutcome.unsent(reason: "circuit open: InvalidProviderToken")

    /// A machine whose credential was refused three times in a row, at the moment of the third.
    private func openedCircuit(_ change: (inout PushPolicy) -> Void = { _ in }) throws -> MachineBench {
        var bench = MachineBench.ready {
            $0.idlePingAfter = .seconds(100_000)
            change(&$0)
        }
        for number in 1...3 as ClosedRange<UInt64> {
            #expect(bench.machine.circuit == .closed)
            let place = try bench.send(push(number))
            bench.answer(place, Self.invalid)
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

    @Test("two refusals open nothing, and a success between starts the count over")
    func closed() throws {
        var bench = MachineBench.ready()
        for (number, isAccepted) in [false, false, true, false, false].enumerated() {
            let place = try bench.send(push(UInt64(number + 1)))
            isAccepted ? bench.answer(place, 200) : bench.answer(place, Self.invalid)
            #expect(bench.machine.circuit == .closed)
        }
        #expect(bench.machine.credential.failures == 2)
    }

    @Test("an open circuit answers at once what comes, what waits, what comes back and what was announced")
    func open() throws {
        var bench = MachineBench.ready(streamLimit: 4) { $0.connectStagger = .seconds(1000) }
        let places = try (1...3 as ClosedRange<UInt64>).map { try bench.send(push($0)) }
        bench.queue(push(4))
        #expect(bench.announced == [push(4)])
        bench.queue(push(5))
        bench.queue(push(6), isUrgent: false)
        #expect(bench.announced == [])
        bench.answer(places[0], Self.invalid)
        #expect(bench.announced == [push(5)])
        bench.answer(places[1], Self.invalid)
        #expect(bench.announced == [push(6)])
        bench.queue(push(7))
        let sent = bench.transmit(push(5))
        let onWire = try #require(sent)
        bench.queue(push(8))
        bench.answer(places[2], Self.invalid)
        #expect(bench.outcomes[push(8)] == [Self.unsent])
        bench.give(.cleared(push(4)))
        #expect(bench.effects == [.outcome(push(4), .returned), .outcome(push(4), Self.unsent)])
        bench.give(.streamRefused(onWire.connection, stream: onWire.stream))
        #expect(bench.outcomes[push(5)] == [.returned, Self.unsent])
        bench.queue(push(9))
        #expect(bench.effects == [.outcome(push(9), Self.unsent)])
        #expect(bench.machine.counters.unsentByCause[.circuitOpen] ?? 0 >= 4)
    }

    @Test("held pushes are answered as well")
    func heldOnes() throws {
        var bench = MachineBench.ready()
        let place = try bench.send(push(11), to: device(1))
        bench.answer(place, providerAnswer(429, "TooManyRequests", .deviceThrottled, retryAfter: .seconds(20)))
        bench.queue(push(12), to: device(1))
        for number in 1...3 as ClosedRange<UInt64> {
            let place = try bench.send(push(number))
            bench.answer(place, Self.invalid)
        }
        #expect(bench.outcomes[push(12)] == [Self.unsent])
        #expect(bench.machine.queueDepth == 0)
    }

    @Test("after the cool-off one push is let through, and the others are answered until it is")
    func probe() throws {
        var bench = try openedCircuit()
        let until = try cooledAt(bench)
        #expect((15_000...45_000).contains((until - bench.now).wholeMilliseconds))
        bench.pass(until - bench.now + .milliseconds(-1))
        bench.queue(push(10))
        #expect(bench.effects == [.outcome(push(10), Self.unsent)])
        bench.pass(.milliseconds(1))
        bench.queue(push(11))
        #expect(bench.effects == [.ready(push(11))])
        #expect(bench.machine.circuit == .probing(push(11), reason: "InvalidProviderToken"))
        bench.queue(push(12))
        #expect(bench.effects == [.outcome(push(12), Self.unsent)])
        let sent = bench.transmit(push(11))
        let place = try #require(sent)
        bench.answer(place, 200)
        #expect(bench.machine.circuit == .closed)
        #expect(bench.machine.credential == CredentialHealth())
        bench.queue(push(13))
        #expect(bench.announced == [push(13)])
    }

    @Test("a probe that is refused doubles the cool-off, up to a bound, and a success starts it over")
    func failedProbes() throws {
        var bench = try openedCircuit()
        var number: UInt64 = 10
        for wait in [60, 120, 240, 300, 300] as [Int64] {
            bench.pass(try cooledAt(bench) - bench.now)
            let place = try bench.send(push(number))
            bench.answer(place, Self.invalid)
            let left = (try cooledAt(bench) - bench.now).wholeMilliseconds
            #expect((wait * 500...wait * 1500).contains(left))
            number += 1
        }
        #expect(bench.machine.counters.circuitsOpened == 6)
        bench.pass(try cooledAt(bench) - bench.now)
        let place = try bench.send(push(90))
        bench.answer(place, 400, "BadDeviceToken")
        #expect(bench.machine.circuit == .closed)
        for number in 91...93 as ClosedRange<UInt64> {
            let place = try bench.send(push(number))
            bench.answer(place, Self.invalid)
        }
        #expect(try cooledAt(bench) - bench.now <= .seconds(45))
    }

    @Test(
        "a probe that leaves without a word on the credential makes room for the next",
        arguments: ["dropped", "expired", "lost", "faulty"])
    func inconclusiveProbe(_ how: String) throws {
        var bench = try openedCircuit()
        bench.pass(try cooledAt(bench) - bench.now)
        bench.queue(push(11))
        switch how {
        case "dropped": bench.give(.dropped(push(11)))
        case "expired": bench.pass(.seconds(45))
        default:
            let sent = bench.transmit(push(11))
            let place = try #require(sent)
            if how == "lost" {
                bench.give(.streamLost(place.connection, stream: place.stream, reason: "x"))
            } else {
                bench.answer(place, 400, "PayloadEmpty")
            }
        }
        #expect(!bench.machine.contains(push(11)))
        bench.queue(push(12))
        #expect(bench.machine.circuit == .probing(push(12), reason: "InvalidProviderToken"))
        #expect(bench.announced == [push(12)])
    }

    @Test("a notice that is put off for a quarter of an hour is the probe no more")
    func heldProbe() throws {
        var bench = try openedCircuit()
        bench.pass(try cooledAt(bench) - bench.now)
        let place = try bench.send(push(11), ring: .seconds(3600), isUrgent: false)
        bench.answer(place, 503, "ServiceUnavailable")
        #expect(bench.outcomes[push(11)] == [.returned])
        #expect(bench.machine.heldPushes == 1)
        bench.queue(push(12))
        #expect(bench.announced == [push(12)])
        #expect(bench.machine.circuit == .probing(push(12), reason: "InvalidProviderToken"))
    }

    @Test("what was on the wire when it opened neither doubles the cool-off nor is the probe's answer")
    func onWire() throws {
        var bench = MachineBench.ready()
        let places = try (1...6 as ClosedRange<UInt64>).map { try bench.send(push($0)) }
        for place in places.prefix(3) { bench.answer(place, Self.invalid) }
        let until = try cooledAt(bench)
        for place in places.dropFirst(3) { bench.answer(place, Self.invalid) }
        #expect(try cooledAt(bench) == until)
        #expect(bench.machine.counters.circuitsOpened == 1)
    }

    @Test("a clock that is wrong opens it too")
    func clock() throws {
        var bench = MachineBench.ready()
        for number in 1...3 as ClosedRange<UInt64> {
            let place = try bench.send(push(number))
            bench.answer(place, 403, "ExpiredProviderToken")
        }
        bench.queue(push(4))
        #expect(bench.outcomes[push(4)] == [.unsent(reason: "circuit open: ExpiredProviderToken")])
        #expect(bench.machine.credential.cause == .clockSkew)
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
        var bench = MachineBench.ready { $0.idlePingAfter = .seconds(100_000) }
        for number in 1...3 as ClosedRange<UInt64> {
            let place = try bench.send(push(number))
            bench.answer(place, 403, "InvalidProviderToken")
        }
        bench.pass(.seconds(58 * 60))
        bench.queue(push(4))
        #expect(bench.effects.first == .signProviderToken(generation: 2, issuedAt: bench.now))
        bench.give(.providerTokenFailed(generation: 2, reason: "x"))
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
        let place = try bench.retransmit(push(1))
        bench.answer(place, 200)
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
