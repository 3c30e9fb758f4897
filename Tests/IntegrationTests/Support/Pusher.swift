import CallVocabulary
import HTTP2
import Logging
import PushClient
import PushCore
import PushVocabulary
import Synchronization
import TLS
import TestCleanup

/// The push client without a server, with a core that clears every push at once, and the history of each push.
final class Pusher: Sendable {
    /// The events of one push.
    struct History: Sendable {
        var announced = 0
        var returned = 0
        /// The outcome, exactly one, and no event after it.
        var final: [PushOutcome] = []
        var lateWords = 0
    }

    private struct State {
        var service: PushService?
        var histories: [PushID: History] = [:]
        var loopTime = Duration.zero
    }

    private let state: Mutex<State>

    /// Uses short timeouts.
    /// - Parameter port: of a server on this machine with the certificate of ``OpenSSL/forThisMachine``.
    init(port: UInt16, _ change: (inout PushPolicy) -> Void = { _ in }) async throws {
        let certificate = try await OpenSSL.forThisMachine.value
        var endpoint = APNSEndpoint(
            environment: .production, host: "127.0.0.1", port: port,
            key: APNSKey(pem: certificate.authKeyPEM, keyID: "KEY1234567", teamID: "TEAM123456"),
            trust: .certificateAuthority(file: certificate.certificateFile))
        endpoint.policy.requestTimeout = .seconds(2)
        endpoint.policy.connectTimeout = .seconds(2)
        endpoint.policy.pingAfter = .milliseconds(500)
        endpoint.policy.pingTimeout = .milliseconds(500)
        endpoint.policy.connectStagger = .milliseconds(20)
        endpoint.policy.reconnectBackoff = Backoff.Limits(base: .milliseconds(50), cap: .milliseconds(400))
        change(&endpoint.policy)
        var log = Logger(label: "push", factory: { StreamLogHandler.standardError(label: $0) })
        log.logLevel = .critical
        state = Mutex(State())
        let service = PushService(
            configuration: PushService.Configuration(apns: [endpoint]), now: { .now },
            mintWakeToken: { "wake-\($0.id)" }, log: log
        ) { [weak self] in self?.heard($0) }
        state.withLock { $0.service = service }
        try service.start()
        atEnd { await service.stop() }
    }

    private func heard(_ events: [PushEvent]) {
        let cleared = state.withLock { state in
            state.loopTime = ThreadTime.now()
            return events.compactMap { Self.note($0, in: &state.histories) }
        }
        for push in cleared { service.transmit(push) }
    }

    /// - Returns: the push if it must be cleared.
    private static func note(_ event: PushEvent, in histories: inout [PushID: History]) -> PushID? {
        switch event {
        case .ready(let push):
            histories[push, default: History()].announced += 1
            if histories[push]?.final.isEmpty == false { histories[push]?.lateWords += 1 }
            return push
        case .outcome(let push, .returned):
            histories[push, default: History()].returned += 1
            if histories[push]?.final.isEmpty == false { histories[push]?.lateWords += 1 }
        case .outcome(let push, let outcome): histories[push, default: History()].final.append(outcome)
        }
        return nil
    }

    private var service: PushService {
        // Force-unwrap: set in init, before the first event.
        state.withLock { $0.service! }
    }

    /// The CPU time of the push loop's thread at its last event.
    var loopTime: Duration { state.withLock { $0.loopTime } }
    var histories: [PushID: History] { state.withLock { $0.histories } }
    var statistics: PushStatistics { service.statistics }

    /// Queues pushes, each to its own device.
    @discardableResult
    func queue(_ count: Int, ring: Duration, token: (Int) -> String = { "00ff\(1000 + $0)" }) -> [PushID] {
        let orders = (0..<count).map { number in
            PushIntent(
                id: .random(), call: .random(), user: "bob", device: .random(), token: .voip(token(number)),
                from: "alice", fromName: "Alice", video: false, custom: nil, expiresAt: .now + ring)
        }
        for intent in orders { service.queue(intent) }
        return orders.map(\.id)
    }

    @discardableResult
    func settled(_ pushes: [PushID], within limit: Duration = .seconds(20)) async throws -> [PushOutcome] {
        try await eventually("outcomes of \(pushes.count) pushes", within: limit) {
            let outcomes = state.withLock { state in pushes.compactMap { state.histories[$0]?.final.first } }
            return outcomes.count == pushes.count ? outcomes : nil
        }
    }

    func stop() async {
        await service.stop()
    }
}

extension PushOutcome {
    enum Kind: Sendable, Hashable {
        case accepted, rejected, unknown, returned, unsent
    }

    var kind: Kind {
        switch self {
        case .accepted: .accepted
        case .rejected: .rejected
        case .unknown: .unknown
        case .returned: .returned
        case .unsent: .unsent
        }
    }
}
