import CallCore
import CallServer
import CallStore
import CallVocabulary
import PushClient
import PushCore
import PushSimulator
import PushVocabulary
import SoftphoneKit
import SoftphoneSession
import StoreInterface
import TestCleanup
import Testing

/// The push service fails in every way during constant calls. The checks are the guarantees of the ledger, independent
/// of the machine's speed: no rates. The process is the drill's own, because its memory is checked.
@Suite("An outage of the push service", .ownProcess, .world)
struct OutageDrillTests {
    private static let calls = 2000
    private static let queueCapacity = 600
    private static let ring = Duration.seconds(8)

    @Test(
        """
        2,000 calls through normal service, 503s, GOAWAYs, a black hole and recovery: nothing is lost, sent twice \
        or sent too late, memory is bounded, and the audit passes
        """, .timeLimit(.minutes(3)))
    func drill() async throws {
        let outage = try await Outage(calls: Self.calls, Self.configure)
        let memory = ProcessMemory.resident()
        try await outage.run(
            calls: Self.calls, every: .milliseconds(10),
            through: [
                nil, .refuse(.serviceUnavailable), .goAway(.shutdown), .blackHole, nil,
            ])
        let reader = try world.reader()
        try await isOver(reader)
        let pushes = try reader.pushes(PushFilter(limit: 2 * Self.calls))
        try await callsAreComplete(outage, reader)
        pushesAreComplete(outage, pushes)
        let attempts = outage.attempts
        let found = pushes.flatMap { contradictions($0, attempts[$0.id.description] ?? []) }
        #expect(found.isEmpty, "\(found.count), the first: \(found.prefix(3))")
        #expect(Set(attempts.keys).subtracting(pushes.map(\.id.description)) == [])

        let audit = try reader.audit()
        #expect(audit.violations == [])
        #expect(audit.counts.intended == pushes.count)
        #expect(try reader.overduePushes(at: .now).isEmpty)

        let sightings = outage.sightings
        #expect(sightings.deepestQueue <= Self.queueCapacity)
        #expect(sightings.mostMemory - memory < 400 << 20)
        try await recovers(outage, reader)
    }

    private func isOver(_ reader: WorldReader) async throws {
        do {
            _ = try await eventually("all calls are over and all pushes are closed", within: .seconds(90)) {
                let areOver = try reader.calls(CallFilter(isLive: true, limit: 1)).isEmpty
                return try areOver && reader.pushes(PushFilter(isOpen: true, limit: 1)).isEmpty ? true : nil
            }
        } catch let error as InVain {
            let calls = try reader.calls(CallFilter(isLive: true, limit: Self.calls))
            let pushes = try reader.pushes(PushFilter(isOpen: true, limit: Self.calls))
            throw InVain(
                what: error.what,
                seen: ["at \(Instant.now): \(calls.count) calls, \(pushes.count) pushes"]
                    + calls.prefix(3).map { "\($0)" } + pushes.prefix(3).map { "\($0)" })
        }
    }

    private static func configure(_ configuration: inout ServerConfiguration) {
        configuration.timers.ring = ring
        configuration.timers.report = .seconds(3)
        configuration.timers.connect = .seconds(8)
        configuration.timers.resume = .seconds(5)
        for index in configuration.push.apns.indices {
            configuration.push.apns[index].policy.requestTimeout = .seconds(3)
            configuration.push.apns[index].policy.queueCapacity = queueCapacity
            configuration.push.apns[index].policy.reconnectBackoff = Backoff.Limits(
                base: .milliseconds(100), cap: .seconds(1))
        }
    }

    /// Each accepted call has one record with an end, and its caller got the end once.
    private func callsAreComplete(_ outage: Outage, _ reader: WorldReader) async throws {
        let sightings = outage.sightings
        #expect(sightings.failed == [])
        #expect(sightings.taken == Set(sightings.placed.keys))
        let calls = try reader.calls(CallFilter(limit: 2 * Self.calls))
        #expect(calls.count == Self.calls)
        #expect(Set(calls.map(\.id)) == Set(sightings.placed.keys))
        #expect(calls.filter { $0.state != .ended || $0.endReason == nil || $0.endedAt == nil } == [])
        _ = try await eventually("the callers have heard of every end") {
            outage.callers.reduce(0) { $0 + $1.endings.count } >= Self.calls ? true : nil
        }
        let endings = outage.callers.flatMap(\.endings)
        #expect(endings.count == Set(endings).count)
        #expect(Set(calls.compactMap(\.endReason)).isSuperset(of: [.hangup, .ringTimeout, .noDevices]))
    }

    /// Each call to an offline user has one push with one final status, and every stage shows in the results.
    private func pushesAreComplete(_ outage: Outage, _ pushes: [PushRecord]) {
        #expect(Set(pushes.map(\.call)).count == pushes.count)
        let sleeping = outage.sightings.placed.filter { $0.value.text.hasPrefix("sleeper") }
        #expect(Set(sleeping.keys).subtracting(pushes.map(\.call)) == [])
        let counts = Dictionary(grouping: pushes, by: \.status).mapValues(\.count)
        #expect(counts[.intended] == nil && counts[.sent] == nil)
        #expect((counts[.accepted] ?? 0) > 0 && (counts[.rejected] ?? 0) > 0 && (counts[.unknown] ?? 0) > 0)
        #expect(pushes.contains { $0.reason == "ServiceUnavailable" })
        #expect(pushes.contains { $0.report == .reported })
    }

    /// Contradictions between the ledger and the push service's records of a push.
    private func contradictions(_ push: PushRecord, _ attempts: [SeenPush]) -> [String] {
        var found: [String] = []
        func expect(_ isRight: Bool, _ what: String) {
            if !isRight { found.append("\(what): \(push), seen as \(attempts)") }
        }
        expect(attempts.count(where: \.isAccepted) <= 1, "accepted twice")
        expect(attempts.dropLast().allSatisfy(\.isRetryable), "sent again though it may have been taken")
        expect(attempts.count(where: \.isRetryable) <= 2, "retried more than once")
        expect(isHonest(push.status, attempts), "not what happened")
        expect(push.sentAt.map { $0 < push.expiresAt } ?? attempts.isEmpty, "sent late, or behind its back")
        for attempt in attempts {
            // The bytes are sent before the deadline; a loaded machine reads them slightly later.
            expect(attempt.at < push.expiresAt + .seconds(1), "came too late")
            expect([push.expiresAt.wholeSeconds, 0].contains(attempt.push.expiration ?? -1), "expires at another time")
        }
        return found
    }

    private func isHonest(_ status: ProviderStatus, _ attempts: [SeenPush]) -> Bool {
        switch status {
        case .accepted: attempts.last?.isAccepted == true
        case .rejected: attempts.last?.isRetryable == true
        case .unknown: true
        case .cancelled, .expired: attempts.allSatisfy(\.isRetryable)
        case .intended, .sent: false
        }
    }

    /// A new call reaches its callee, is answered, and the caller hangs up.
    private func recovers(_ outage: Outage, _ reader: WorldReader) async throws {
        let caller = outage.callers[0]
        let call = try await caller.softphone.call(.user("phone0"))
        do {
            _ = try await caller.state(.connected, of: call)
        } catch let error as InVain {
            let phone = await outage.simulator.snapshot()?.phone(outage.phones[0].token)
            let pushes = try reader.pushes(PushFilter(call: call))
            let device = try reader.devices(user: "phone0")
            throw InVain(what: error.what, seen: ["\(pushes)", "\(device)", "\(String(describing: phone))"])
        }
        #expect(try await caller.ended(call).reason == .hangup)
    }
}

extension Phone {
    /// The calls whose end this phone was told.
    fileprivate var endings: [CallID] {
        events.entries.compactMap { event in
            if case .ended(let call) = event { call.id } else { nil }
        }
    }
}
