import CallVocabulary
import PushVocabulary
import Testing

@testable import PushCore

@Suite("A credential that is replaced")
struct PushMachineReplacementTests {
    private static let invalid = PushAnswer.apns(status: 403, body: Array("{\"reason\":\"InvalidProviderToken\"}".utf8))

    @Test("what is on the wire is awaited on the old connection; what comes goes out with a new token on a new one")
    func wire() throws {
        var bench = MachineBench.ready()
        let place = try bench.send(push(1))
        bench.give(.credentialReplaced(.signedToken))
        #expect(bench.effects == [])
        bench.queue(push(2))
        #expect(bench.effects == [.signProviderToken(generation: 2, issuedAt: bench.now), .open(connection(1))])
        bench.give(.opened(connection(1), streamLimit: 100))
        #expect(bench.announced == [])
        bench.give(.providerTokenSigned(generation: 2))
        #expect(bench.announced == [push(2)])
        bench.give(.cleared(push(2)))
        #expect(bench.effects == [.submit(connection(1), push(2), tokenGeneration: 2)])
        bench.answer(place, 200)
        #expect(bench.outcomes[push(1)] == [.accepted])
        #expect(bench.effects.contains(.close(connection(0))))
    }

    @Test("idle connections and those being opened are closed, and nothing of a token on its way counts any more")
    func pending() {
        var bench = MachineBench()
        bench.queue(push(1))
        #expect(bench.effects.contains(.signProviderToken(generation: 1, issuedAt: bench.now)))
        bench.give(.credentialReplaced(.signedToken))
        #expect(
            bench.effects == [
                .close(connection(0)), .signProviderToken(generation: 2, issuedAt: bench.now), .open(connection(1)),
            ])
        bench.give(.opened(connection(1), streamLimit: 10))
        bench.give(.providerTokenSigned(generation: 1))
        #expect(bench.effects == [])
        bench.give(.providerTokenFailed(generation: 1, reason: "no key"))
        #expect(bench.effects == [])
        #expect(bench.machine.credential.failures == 0 && bench.machine.counters.tokensFailed == 0)
        bench.give(.providerTokenSigned(generation: 2))
        #expect(bench.announced == [push(1)])
    }

    @Test("a push that waits for the core's word comes back after it, and goes out with the new one")
    func announced() throws {
        var bench = MachineBench.ready()
        bench.queue(push(1))
        #expect(bench.announced == [push(1)])
        bench.give(.credentialReplaced(.signedToken))
        #expect(bench.machine.contains(push(1)) && bench.outcomes[push(1)] == nil)
        bench.give(.cleared(push(1)))
        #expect(bench.outcomes[push(1)] == [.returned])
        bench.give(.providerTokenSigned(generation: 2))
        bench.give(.opened(connection(1), streamLimit: 10))
        let place = try bench.retransmit(push(1))
        #expect(place.connection == connection(1))
        bench.answer(place, 200)
        #expect(bench.outcomes[push(1)] == [.returned, .accepted])
    }

    @Test("an open circuit closes, and what was found wrong is forgotten")
    func circuit() throws {
        var bench = MachineBench.ready()
        for number in 1...3 as ClosedRange<UInt64> { try bench.refuseTwice(push(number)) }
        #expect(bench.machine.circuit.reason == "InvalidProviderToken")
        bench.give(.credentialReplaced(.signedToken))
        #expect(bench.machine.circuit == .closed && bench.machine.credential.failures == 0)
        bench.queue(push(4))
        #expect(bench.outcomes[push(4)] == nil)
        // At once: the 20 minutes between two tokens are those of one key.
        #expect(bench.signed == [3])
    }

    @Test("late refusals of the old one open no circuit, and those pushes are sent once more with the new one")
    func lateRefusals() throws {
        var bench = MachineBench.ready()
        let places = try (1...4 as ClosedRange<UInt64>).map { try bench.send(push($0)) }
        bench.give(.credentialReplaced(.signedToken))
        for place in places { bench.answer(place, Self.invalid) }
        #expect(bench.machine.circuit == .closed && bench.machine.credential.failures == 0)
        for number in 1...4 as ClosedRange<UInt64> { #expect(bench.outcomes[push(number)] == [.returned]) }
        bench.give(.providerTokenSigned(generation: 2))
        bench.give(.opened(connection(1), streamLimit: 10))
        #expect(bench.announced.count == 4)
        bench.give(.cleared(push(1)))
        let again = bench.carryOutSubmit(of: push(1))
        bench.answer(try #require(again), Self.invalid)
        guard case .rejected(let reason, false)? = bench.outcomes[push(1)]?.last else {
            Issue.record("the new credential's refusal is final")
            return
        }
        #expect(reason == "InvalidProviderToken")
        #expect(bench.machine.credential.failures == 1)
    }

    @Test("may be of another kind: a certificate signs nothing, and a key after it signs with a new number")
    func kinds() {
        var bench = MachineBench.ready()
        bench.give(.credentialReplaced(.certificate))
        bench.queue(push(1))
        #expect(bench.effects == [.open(connection(1))])
        bench.give(.opened(connection(1), streamLimit: 10))
        bench.give(.cleared(push(1)))
        #expect(bench.effects == [.submit(connection(1), push(1), tokenGeneration: 0)])
        _ = bench.carryOutSubmit(of: push(1))
        bench.give(.credentialReplaced(.signedToken))
        bench.queue(push(2))
        #expect(bench.effects.contains(.signProviderToken(generation: 2, issuedAt: bench.now)))
    }

    @Test("when it is gone, what waits, is held or was announced ends as unsent; what is on the wire has its answer")
    func gone() throws {
        var bench = MachineBench.ready(streamLimit: 2) { $0.connections = 2 }
        let place = try bench.send(push(1))
        bench.queue(push(2))
        #expect(bench.announced == [push(2)])
        bench.queue(push(3))
        for number in 1...3 as ClosedRange<UInt64> {
            bench.give(.credentialGone(push(number), reason: "no credentials"))
        }
        #expect(bench.outcomes[push(1)] == nil)
        for number in [2, 3] as [UInt64] {
            #expect(bench.outcomes[push(number)] == [.unsent(reason: "no credentials")])
            #expect(!bench.machine.contains(push(number)))
        }
        #expect(bench.machine.counters.unsentByCause[.credentialGone] == 2)
        #expect(bench.machine.queueDepth == 0)
        bench.give(.cleared(push(2)))
        #expect(bench.effects == [])
        bench.answer(place, 200)
        #expect(bench.outcomes[push(1)] == [.accepted])
    }
}
