import CallVocabulary
import Determinism
import Testing

@testable import SoftphoneSession

@Suite struct ReconnectTests {
    typealias H = SessionHarness

    @Test("a phone goes online by token, socket, welcome and session.open, in this order")
    func goesOnline() throws {
        let token = PushToken(
            provider: .apns, kind: .voip, environment: .production, topic: "app.voip", token: "abc")
        var harness = H { $0.push = [token] }
        #expect(harness.give(.started(ticket: 5, limit: .seconds(30))) == [.fetchToken(attempt: 1)])
        #expect(harness.give(.tokenFetched(attempt: 1, token: "jwt")) == [.connect(attempt: 1)])
        #expect(harness.give(.connected(attempt: 1)).isEmpty)
        let open = try #require(harness.receive(.welcome(harness.welcome)).openRequest)
        #expect(open.token == "jwt")
        #expect(open.device.id == H.device)
        #expect(open.push == [token])
        #expect(open.resume == nil)
        let opened = harness.opened()
        let effects = harness.answerOpen(opened)
        #expect(effects.outcome(5) == .success(.opened(opened)))
        #expect(effects.connectionChanges == [.up(opened)])
        #expect(harness.session.isOpen)
        #expect(harness.session.nextDeadline == nil, "an idle phone needs no timer")
    }

    @Test("tokens that the server has are not said again")
    func pushTokensAreSaidOnce() throws {
        var harness = H.online { $0.push = [] }
        let again = try #require(harness.loseAndReachOpening().openRequest)
        #expect(again.push == nil)
    }

    @Test("waits grow exponentially up to the ceiling, with full jitter", arguments: [1, 2, 3, 99] as [UInt64])
    func backoffBounds(seed: UInt64) {
        var harness = H(seed: seed)
        _ = harness.give(.started(ticket: nil, limit: nil))
        var delays: [Duration] = []
        for _ in 0..<12 {
            let effects = harness.give(.tokenFailed(attempt: harness.attempt, reason: "no"))
            delays += effects.retryDelays
            _ = harness.advance(effects.retryDelays[0])
            #expect(harness.session.connection == .authorizing(deadline: harness.now + .seconds(10)))
        }
        let bounds = SessionVectors.connection.backoff.bounds
        for (index, delay) in delays.enumerated() {
            #expect(delay >= .zero && delay <= .milliseconds(bounds[min(index, bounds.count - 1)]))
        }
        #expect(harness.session.configuration.backoffBase == .milliseconds(bounds[0]))
        #expect(harness.session.configuration.backoffCeiling == .milliseconds(bounds[bounds.count - 1]))
        #expect(delays.count == 12)
    }

    @Test("waits are spread over the whole of their range")
    func jitterIsFull() {
        var delays: [Duration] = []
        for seed in 0..<200 as Range<UInt64> {
            var backoff = ReconnectBackoff(base: .seconds(1), ceiling: .seconds(30))
            var random = SeededGenerator(seed: seed)
            delays.append(backoff.next(using: &random))
        }
        for quarter in 0..<4 {
            let range = (Duration.milliseconds(250) * quarter)..<(Duration.milliseconds(250) * (quarter + 1))
            #expect(delays.filter(range.contains).count > 25, "quarter \(quarter)")
        }
    }

    @Test("only a session that stood for a while makes the backoff start afresh")
    func flappingKeepsBackingOff() {
        var harness = H()
        _ = harness.give(.started(ticket: nil, limit: nil))
        for expected in 1...4 {
            _ = harness.reachOpening()
            _ = harness.answerOpen(harness.opened())
            _ = harness.advance(.seconds(1))
            let lost = harness.give(.disconnected(attempt: harness.attempt, code: 3003, reason: ""))
            #expect(harness.session.backoff.attempts == expected)
            _ = harness.advance(lost.retryDelays[0])
        }
        _ = harness.reachOpening()
        _ = harness.answerOpen(harness.opened())
        _ = harness.advance(.seconds(10))
        _ = harness.give(.disconnected(attempt: harness.attempt, code: 3003, reason: ""))
        #expect(harness.session.backoff.attempts == 1)
    }

    @Test(
        "the close code decides whether a phone comes back",
        arguments: [
            (nil, true), (1001, true), (1002, false), (1006, true), (1011, true), (3000, true), (3001, true),
            (3002, true),
            (3003, true), (3499, true), (1000, false), (1003, false), (1007, false), (3500, false), (3501, false),
            (3502, false), (3503, false), (3504, false), (3505, false), (3506, false), (3999, false), (4000, false),
        ] as [(UInt16?, Bool)])
    func closeCodes(code: UInt16?, comesBack: Bool) {
        var harness = H.online()
        _ = harness.command(.get(H.call(1)), ticket: 4)
        let effects = harness.give(.disconnected(attempt: harness.attempt, code: code, reason: "why"))
        if comesBack {
            let delay = effects.retryDelays.first ?? .zero
            #expect(effects.connectionChanges == [.down(code: code, reason: "why", retryIn: delay)])
            #expect(effects.outcome(4) == nil)
            #expect(harness.advance(.seconds(1)).contains(.fetchToken(attempt: harness.attempt)))
        } else if let code {
            #expect(effects.connectionChanges == [.gone(.closed(code: code))])
            #expect(effects.outcome(4) == .failure(.gone(.closed(code: code))))
            #expect(harness.session.nextDeadline == nil)
            #expect(harness.advance(.seconds(3600)).isEmpty)
        }
    }

    @Test("a refused session.open is final, or waits as long as the server says")
    func refusedOpen() {
        let final: [SignalError.Code] = [
            .unauthenticated, .forbidden, .invalidParams, .methodNotFound, .tooLarge(limit: 1),
        ]
        for code in final {
            var harness = H()
            _ = harness.give(.started(ticket: 1, limit: nil))
            let id = harness.reachOpening().lastRequestID
            let error = SignalError(code, "no")
            let effects = harness.receive(.error(id, error))
            #expect(effects.connectionChanges == [.gone(.refused(error))])
            #expect(effects.outcome(1) == .failure(.gone(.refused(error))))
            #expect(effects.first == .disconnect)
        }
        let temporary: [SignalError.Code] = [
            .overloaded(retryAfter: .seconds(7)), .rateLimited(retryAfter: .seconds(7)),
        ]
        for code in temporary {
            var harness = H()
            let id = harness.startAndReachOpening().lastRequestID
            let delay = harness.receive(.error(id, SignalError(code, "later"))).retryDelays[0]
            #expect(delay >= .seconds(7) && delay <= .milliseconds(7500))
        }
    }

    @Test("one refusal silences the phone for minutes, whatever time the server says")
    func longWaits() {
        for wait in [Duration.seconds(301), .milliseconds(9_007_199_254_740_991)] {
            for code in [SignalError.Code.overloaded(retryAfter: wait), .rateLimited(retryAfter: wait)] {
                var harness = H()
                let id = harness.startAndReachOpening().lastRequestID
                let delay = harness.receive(.error(id, SignalError(code, "later"))).retryDelays[0]
                #expect(delay >= .seconds(300) && delay <= .milliseconds(300_500))
                #expect(SignalError(code, "later").retryDelay == .seconds(300))
            }
        }
    }

    @Test("a resume that the server cannot even read is tried again without")
    func malformedResume() throws {
        var harness = H.online()
        let open = harness.loseAndReachOpening()
        #expect(open.openRequest?.resume != nil)
        let lost = harness.receive(.error(open.lastRequestID, SignalError(.invalidParams, "resume")))
        #expect(lost.retryDelays.count == 1)
        #expect(try #require(harness.startAndReachOpening().openRequest).resume == nil)
    }

    @Test("another protocol version is final")
    func otherVersion() {
        var harness = H()
        _ = harness.give(.started(ticket: nil, limit: nil))
        _ = harness.give(.tokenFetched(attempt: 1, token: "t"))
        _ = harness.give(.connected(attempt: 1))
        var welcome = harness.welcome
        welcome.protocolVersion = 2
        let effects = harness.receive(.welcome(welcome))
        #expect(effects.connectionChanges == [.gone(.unsupportedProtocol(version: 2))])
        #expect(effects.openRequest == nil)
    }

    @Test("whoever waits for the session is told in time, and why it failed")
    func waiterLimit() {
        var harness = H { $0.backoffCeiling = .seconds(1) }
        _ = harness.give(.started(ticket: 1, limit: .seconds(5)))
        _ = harness.give(.tokenFailed(attempt: harness.attempt, reason: "no network"))
        var effects: [SessionEffect] = []
        for _ in 0..<50 where harness.now < .seconds(5) {
            effects += harness.advance(.milliseconds(100))
            effects += harness.give(.tokenFailed(attempt: harness.attempt, reason: "no network"))
        }
        #expect(harness.now == .seconds(5))
        #expect(effects.outcome(1) == .failure(.notConnected(lastFailure: "no token: no network")))
    }

    @Test("going offline says session.close, and waits for it 2 s at most")
    func closes() {
        var harness = H.online()
        _ = harness.event(1, .draining(deadline: .seconds(9)))
        let effects = harness.give(.stopped(ticket: 8))
        #expect(effects.requests == [.close])
        #expect(effects.acks == [1], "what was handled is said before the end")
        #expect(harness.command(.get(H.call(1)), ticket: 9) == [.complete(9, .failure(.closed))])
        let late = harness.advance(.seconds(2))
        #expect(late.contains(.disconnect))
        #expect(late.outcome(8) == .success(.done))
        #expect(late.connectionChanges == [.offline])
        #expect(harness.session.connection == .idle)
    }

    @Test("a closed session is not resumed")
    func closedIsOver() throws {
        var harness = H.online()
        let close = harness.give(.stopped(ticket: nil))
        _ = harness.receive(.reply(try #require(close.lastRequestID), .done))
        #expect(try #require(harness.startAndReachOpening().openRequest).resume == nil)
    }

    @Test("logout succeeds by its reply and by the close code that may overtake it", arguments: [true, false])
    func logout(byReply: Bool) throws {
        let token = PushToken(provider: .fcm, kind: .data, environment: .production, topic: "p", token: "x")
        var harness = H.online { $0.push = [token] }
        let id = try #require(harness.command(.logout, ticket: 2).lastRequestID)
        let effects =
            byReply
            ? harness.receive(.reply(id, .done))
            : harness.give(.disconnected(attempt: harness.attempt, code: 3506, reason: ""))
        #expect(effects.outcome(2) == .success(.done))
        #expect(effects.connectionChanges == [.offline])
        #expect(effects.contains(.disconnect) == byReply)
        #expect(try #require(harness.startAndReachOpening().openRequest).push == [token], "the server forgot them")
    }

    @Test("a silent server is asked, and a dead connection is found by it")
    func probesSilence() {
        var harness = H.online { $0.probesSilence = true }
        #expect(harness.advance(.seconds(49)).isEmpty)
        #expect(harness.advance(.seconds(1)).requests == [.state(.foreground)])
        let dead = harness.advance(.seconds(10))
        #expect(dead.first == .disconnect)
        #expect(dead.connectionChanges.first.map { if case .down = $0 { true } else { false } } == true)
    }

    @Test("what a given-up connection still says does not touch the next one")
    func lateWords() {
        var harness = H.online()
        let old = harness.attempt
        #expect(harness.give(.cut).contains(.disconnect))
        #expect(harness.attempt != old, "from the moment it is given up")
        _ = harness.startAndReachOpening()
        let before = harness.session.connection
        #expect(harness.give(.disconnected(attempt: old, code: 3503, reason: "late")).isEmpty)
        #expect(harness.give(.received(attempt: old, .reply(.number(2), .opened(harness.opened())))).isEmpty)
        #expect(harness.session.connection == before)
    }

    @Test("the same inputs and seed give the same effects")
    func deterministic() {
        func run(seed: UInt64) -> [SessionEffect] {
            var harness = H(seed: seed)
            var effects = harness.give(.started(ticket: nil, limit: nil))
            for _ in 0..<8 {
                effects += harness.give(.tokenFailed(attempt: harness.attempt, reason: ""))
                effects += harness.advance(.seconds(31))
            }
            return effects
        }
        #expect(run(seed: 4) == run(seed: 4))
        #expect(run(seed: 4) != run(seed: 5))
    }
}
