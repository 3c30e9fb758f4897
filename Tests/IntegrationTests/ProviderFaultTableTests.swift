import CallCore
import CallServer
import CallStore
import CallVocabulary
import HTTP2
import PhoneSimulator
import PushClient
import PushCore
import PushSimulator
import PushVocabulary
import SoftphoneKit
import SoftphoneSession
import StoreInterface
import Testing

/// The results of the simulator's faults on a call with a push: on the wire, in the ledger and for the call. The server,
/// its push client, the simulator and the phones are real. `PushFaultTableTests` has the whole table, without a wire.
@Suite("Each kind of fault of the push service, from the wire to the call", .world)
struct ProviderFaultTableTests {
    /// A fault and its count; nil for every push.
    struct Row: CustomTestStringConvertible {
        let name: String
        let effect: PushFault.Effect
        var count: Int?

        init(_ name: String, _ effect: PushFault.Effect, count: Int? = 1) {
            self.name = name
            self.effect = effect
            self.count = count
        }

        init(_ refusal: WebPushRefusal) {
            self.init("Web Push \(refusal.status) \(refusal.rawValue)", .refuseWebPush(refusal))
        }

        var testDescription: String { count == nil ? "\(name), every time" : name }
        var fault: PushFault { PushFault(effect, count: count) }

        /// Whether connections break or carry fewer pushes afterwards, which would change the results of further rows.
        var harmsConnections: Bool {
            switch effect {
            case .neverAnswer, .retire, .reset, .limitStreams, .refuseAndClose, .blackHole: true
            case .refuse, .refuseMessage, .refuseWebPush, .lose, .deliverLate, .splitBody, .emptyBody, .html: false
            }
        }
    }

    enum Ending {
        /// The phone wakes, reports and rings.
        case rings
        /// The push may be in flight: the call waits for the phone.
        case waits
        /// No device is reachable: the caller is told at once.
        case noDevices
    }

    struct Expectation {
        /// The number of requests on the wire.
        var requests = 1
        var status = ProviderStatus.accepted
        /// The end of the reason in the ledger.
        var reason: String?
        var report: ReportStatus?
        var ending: Ending
        var isTokenKept = true

        static func rings(requests: Int = 1) -> Self { Self(requests: requests, report: .reported, ending: .rings) }
        static var lost: Self { Self(report: .awaited, ending: .waits) }
        static func dark(_ reason: String) -> Self {
            Self(status: .unknown, reason: reason, report: .awaited, ending: .waits)
        }
        static func refused(_ reason: String, requests: Int = 1, isTokenKept: Bool = true) -> Self {
            Self(requests: requests, status: .rejected, reason: reason, ending: .noDevices, isTokenKept: isTokenKept)
        }
        /// For a temporary failure, which is retried once.
        static func again(_ row: Row, _ reason: String) -> Self {
            row.count == nil ? refused(reason, requests: 2) : rings(requests: 2)
        }
    }

    private static let soon = Duration.milliseconds(50)
    /// Longer than the client's timeout.
    private static let late = Duration.seconds(30)

    /// One row for each path through the push client and the core; ``ProviderFaultTableReleaseTests`` has the others.
    static let representatives: [Row] =
        [
            Row("503 with its reason", .refuse(.serviceUnavailable)),
            Row("503 with its reason", .refuse(.serviceUnavailable), count: nil),
            Row("429 under another status", .refuse(.tooManyRequests, status: 500)),
            Row("FCM 503", .refuseMessage(.unavailable)), Row("FCM 503", .refuseMessage(.unavailable), count: nil),
            Row("FCM 429 with Retry-After", .refuseMessage(.quotaExceeded, retryAfter: 1)),
            Row("FCM 429 of the device", .refuseMessage(.deviceQuotaExceeded, retryAfter: 1)),
            Row("FCM 404", .refuseMessage(.unregistered)), Row("FCM 403", .refuseMessage(.senderIDMismatch)),
            Row("FCM 401", .refuseMessage(.thirdPartyAuthError)),
            Row("Web Push 429 with Retry-After", .refuseWebPush(.tooManyRequests, retryAfter: 1)),
            Row("Web Push 503", .refuseWebPush(.unavailable), count: nil),
        ]
        + webRepresentatives.map { Row($0) } + [
            Row("200 and lost", .lose), Row("late delivery", .deliverLate(.milliseconds(200))),
            Row("no answer", .neverAnswer),
            Row("GOAWAY in JSON", .retire(.init(text: .json(.shutdown)))),
            Row("GOAWAY, last stream 0", .retire(.init(lastStream: .zero))),
            Row("GOAWAY, last stream before", .retire(.init(lastStream: .before))),
            Row("RST_STREAM 7", .reset(.refusedStream)), Row("RST_STREAM 5", .reset(.streamClosed)),
            Row("the stream limit falls to 0", .limitStreams(0)),
            Row("503, then closed", .refuseAndClose), Row("black hole", .blackHole),
            Row("500 in two pieces", .splitBody(.internalServerError, pause: soon)),
            Row("500 without a body", .emptyBody(status: 500)),
            Row("HTML 502", .html(status: 502), count: nil), Row("HTML 403", .html(status: 403)),
            Row("the second half of a 410 is late", .splitBody(.unregistered, pause: late)),
        ]

    private static let webRepresentatives: [WebPushRefusal] = [.gone, .badKey, .badToken, .payloadTooLarge]
    private static let webOthers = WebPushRefusal.allCases.filter { !webRepresentatives.contains($0) }

    static let others: [Row] =
        [
            Row("FCM 500", .refuseMessage(.internal)), Row("FCM 500, no code of use", .refuseMessage(.unspecified)),
            Row("FCM 429 of the project", .refuseMessage(.projectQuotaExceeded, retryAfter: 1)),
            Row("FCM 400", .refuseMessage(.invalidArgument)),
        ]
        + webOthers.map { Row($0) } + [
            Row("GOAWAY in plain text", .retire(.init(text: .plain(.shutdown)))),
            Row("GOAWAY without a word", .retire(.init())),
            Row("GOAWAY twice", .retire(.init(text: .json(.shutdown), isDoubled: true))),
            Row("GOAWAY twice, last stream 0", .retire(.init(isDoubled: true, lastStream: .zero))),
            Row("RST_STREAM 2", .reset(.internalError)), Row("the stream limit falls to 1", .limitStreams(1)),
            Row("503, then closed", .refuseAndClose, count: nil),
            Row("410 in two pieces", .splitBody(.unregistered, pause: soon)),
            Row("500 without a body", .emptyBody(status: 500), count: nil),
            Row("400 without a body", .emptyBody(status: 400)), Row("429 without a body", .emptyBody(status: 429)),
            Row("HTML 502", .html(status: 502)),
            Row("the second half of a 500 is late", .splitBody(.internalServerError, pause: late)),
        ]

    static func expectation(_ row: Row) -> Expectation {
        switch row.effect {
        case .refuse(let reason, _, _):
            reason == .tooManyRequests ? .refused(reason.rawValue) : .again(row, reason.rawValue)
        case .refuseMessage(let refusal, _, _): expectation(row, refusal)
        case .refuseWebPush(let refusal, _, _): expectation(row, refusal)
        case .lose: .lost
        case .deliverLate: .rings()
        case .neverAnswer: .dark("no answer in time")
        case .retire(let goAway):
            switch goAway.lastStream {
            case .current: .rings()
            // The push was not processed: it is sent again, on another connection.
            case .zero, .before: .rings(requests: 2)
            }
        // It was not processed (RFC 9113, 8.7); other codes leave that open.
        case .reset(.refusedStream): .rings(requests: 2)
        case .reset(let code): .dark("\(code)")
        case .limitStreams: .rings()
        case .refuseAndClose: .again(row, "ServiceUnavailable")
        case .blackHole: .dark("PING unanswered")
        case .splitBody(let reason, _):
            // After the timeout the received part of the response counts: its status, and the readable part of its
            // body.
            reason == .internalServerError
                ? .again(row, reason.rawValue) : .refused(reason.rawValue, isTokenKept: false)
        // 403 refuses the credential, which is retried once.
        case .emptyBody(let status), .html(let status):
            status >= 500 || status == 403 ? .again(row, "HTTP \(status)") : .refused("HTTP \(status)")
        }
    }

    private static func expectation(_ row: Row, _ refusal: FCMRefusal) -> Expectation {
        switch refusal {
        case .unavailable, .internal, .unspecified, .quotaExceeded, .thirdPartyAuthError: .again(row, refusal.rawValue)
        case .projectQuotaExceeded: .again(row, FCMRefusal.quotaExceeded.rawValue)
        case .deviceQuotaExceeded: .refused(FCMRefusal.quotaExceeded.rawValue)
        case .unregistered: .refused(refusal.rawValue, isTokenKept: false)
        case .senderIDMismatch, .invalidArgument: .refused(refusal.rawValue)
        }
    }

    private static func expectation(_ row: Row, _ refusal: WebPushRefusal) -> Expectation {
        switch refusal {
        // A subscription of another key can never be pushed to.
        case .gone, .notFound, .badKey: .refused(refusal.message, isTokenKept: false)
        case .tooManyRequests, .internalError, .unavailable: .again(row, refusal.message)
        case .missingAuthorization, .badAuthorization, .badToken, .badAudience, .badExpiration, .badSubject:
            .again(row, refusal.message)
        case .badMethod, .missingTTL, .badTTL, .badTopic, .badUrgency, .badEncoding, .payloadTooLarge:
            .refused(refusal.message)
        }
    }

    @Test("the table has every fault, and every refusal of FCM and Web Push; each commit runs every fault")
    func completeness() {
        for rows in [Self.representatives, Self.representatives + Self.others] {
            let names = rows.map { PushFaultOrder($0.fault).fault }
            #expect(Set(names) == Set(PushFaultOrder.Name.allCases.map(\.rawValue)))
            let lastStreams = rows.compactMap { row -> PushFault.GoAway.LastStream? in
                if case .retire(let goAway) = row.effect { goAway.lastStream } else { nil }
            }
            #expect(Set(lastStreams) == Set(PushFault.GoAway.LastStream.allCases))
        }
        var refusals: Set<FCMRefusal> = []
        var webRefusals: Set<WebPushRefusal> = []
        for row in Self.representatives + Self.others {
            if case .refuseMessage(let refusal, _, _) = row.effect { refusals.insert(refusal) }
            if case .refuseWebPush(let refusal, _, _) = row.effect { webRefusals.insert(refusal) }
        }
        #expect(refusals == Set(FCMRefusal.allCases))
        #expect(webRefusals == Set(WebPushRefusal.allCases))
    }

    /// The services that pushes go to.
    static let services: [PushFault.Service] = [.apns, .fcm, .webpush]

    @Test("each answer has the result in the table, and the next call rings", arguments: services)
    func answers(of service: PushFault.Service) async throws {
        try await Self.check(Self.representatives.filter { $0.fault.service == service && !$0.harmsConnections })
    }

    @Test(
        "each harm to a connection has the result in the table, and the next call rings",
        arguments: representatives.filter(\.harmsConnections))
    func harm(_ row: Row) async throws { try await Self.check([row]) }

    /// The rows, of one service, one after the other on one server, each with a phone of its own.
    static func check(_ rows: [Row]) async throws {
        let first = try #require(rows.first)
        let (simulator, server) = try await world.startPushing(Self.impatient)
        let system: WakeablePhone.System =
            switch first.fault.service {
            case .apns: .iPhone
            case .fcm, .oauth: .android
            case .webpush: .web
            }
        let carol = try await world.sleepingPhone("carol", at: server.address) { $0.system = system }
        let alice = try await world.onlinePhone("alice", at: server.address)
        // A connection that has responded before: others are avoided for a while.
        try await rings(carol, alice)
        for (index, row) in rows.enumerated() {
            let user = "bob\(index)"
            let bob = try await world.sleepingPhone(user, at: server.address) { $0.system = system }
            do {
                try await check(row, simulator, from: alice, to: bob, of: Handle(stringLiteral: user))
                await simulator.clearFaults()
                try await rings(carol, alice)
            } catch {
                throw InVain(what: "\(row.testDescription): \(error)")
            }
        }
    }

    private static func check(
        _ row: Row, _ simulator: PushSimulator, from alice: Phone, to bob: IPhone, of user: Handle
    ) async throws {
        let name = Comment(rawValue: row.testDescription)
        let expected = expectation(row)
        let before = try #require(await simulator.snapshot()?.counts)
        await simulator.inject(row.fault)
        let call = try await alice.softphone.call(.user(user))
        let push = try await settled(call, expected)
        #expect(push.status == expected.status, name)
        #expect(push.reason?.hasSuffix(expected.reason ?? "") ?? (expected.reason == nil), "\(name): \(push)")
        #expect(push.report == expected.report, name)
        try await end(call, expected.ending, alice, bob, name)

        let after = try #require(await simulator.snapshot()?.counts)
        #expect(after.received - before.received == expected.requests, name)
        #expect(after.delivered - before.delivered == (expected.ending == .rings ? 1 : 0), name)
        let tokens = try world.reader().devices(user: user).flatMap(\.tokens)
        #expect(tokens.count == (expected.isTokenKept ? 1 : 0), name)
        if case .retire = row.effect { #expect(after.goAways - before.goAways == 1, name) }
    }

    /// The ledger's record of the call's push, once it meets the expectation or is final.
    private static func settled(_ call: CallID, _ expected: Expectation) async throws -> PushRecord {
        try await eventually("the push is settled") {
            guard let push = try world.reader().pushes(PushFilter(call: call)).first else { return nil }
            switch push.status {
            case .intended, .sent: return nil
            // The report may pass through `acted` first.
            case .accepted where expected.report == .reported && push.report != .reported: return nil
            case .accepted, .rejected, .unknown, .cancelled, .expired: return push
            }
        }
    }

    private static func end(
        _ call: CallID, _ ending: Ending, _ alice: Phone, _ bob: IPhone, _ name: Comment
    ) async throws {
        switch ending {
        case .noDevices: #expect(try await alice.ended(call).reason == .noDevices, name)
        case .rings:
            try await bob.rings(call)
            _ = try await alice.state(.ringing, of: call)
            #expect(try await alice.hangUp(call) == .cancelled, name)
        case .waits:
            #expect(try world.reader().call(call)?.call.state == .waking, name)
            #expect(try await alice.hangUp(call) == .cancelled, name)
        }
    }

    /// A call wakes the sleeping phone, and it sleeps again.
    private static func rings(_ phone: IPhone, _ alice: Phone) async throws {
        let call = try await alice.softphone.call(.user("carol"))
        try await phone.rings(call)
        _ = try await alice.state(.ringing, of: call)
        try await world.push("is accepted", of: call) { $0.status == .accepted }
        #expect(try await alice.hangUp(call) == .cancelled)
        try await phone.asleep()
    }

    /// A short timeout for responses, but longer than the detection of a broken connection.
    private static func impatient(_ configuration: inout ServerConfiguration) {
        func change(_ policy: inout PushPolicy) {
            policy.requestTimeout = .seconds(2)
            policy.pingAfter = .milliseconds(400)
            policy.pingTimeout = .milliseconds(800)
            policy.connectStagger = .milliseconds(20)
            policy.reconnectBackoff = Backoff.Limits(base: .milliseconds(20), cap: .milliseconds(200))
        }
        for index in configuration.push.apns.indices { change(&configuration.push.apns[index].policy) }
        for index in configuration.push.fcm.indices { change(&configuration.push.fcm[index].policy) }
    }

    @Test("a GOAWAY in flight: streams up to its last id are awaited, others are sent again elsewhere")
    func midFlight() async throws {
        let seen = Journal<SeenPush>()
        let simulator = try await world.startSimulator { $0.onPush = { seen.add($0) } }
        let server = try await world.startServer {
            Self.impatient(&$0)
            for index in $0.push.apns.indices { $0.push.apns[index].policy.connections = 2 }
        }
        let carol = try await world.sleepingPhone("carol", at: server.address)
        let dave = try await world.sleepingPhone("dave", at: server.address)
        let bob = try await world.sleepingPhone("bob", at: server.address)
        let alice = try await world.onlinePhone("alice", at: server.address)
        try await Self.rings(carol, alice)
        await simulator.inject(PushFault(.neverAnswer, deviceToken: dave.token, count: 1))
        let first = try await alice.softphone.call(.user("dave"))
        try await seen.first("the first push") { $0.push.deviceToken == dave.token ? true : nil }
        await simulator.inject(PushFault(.retire(.init(lastStream: .before)), deviceToken: bob.token, count: 1))
        let second = try await alice.softphone.call(.user("bob"))
        try await bob.rings(second)
        let dark = try await world.push("is given up", of: first) { $0.status == .unknown }
        #expect(dark.reason == "no answer in time")
        let attempts = seen.entries.filter { $0.push.deviceToken == bob.token }
        #expect(attempts.count == 2)
        #expect(Set(attempts.map(\.push.id)).count == 1)
        #expect(seen.entries.count { $0.push.deviceToken == dave.token } == 1)
        for call in [first, second] {
            #expect(try await alice.hangUp(call) == .cancelled)
        }
    }

    @Test("a connection closed after too many bad tokens affects no other push")
    func badTokens() async throws {
        let simulator = try await world.startSimulator { $0.closesAfterBadTokens = 2 }
        let server = try await world.startServer(Self.impatient)
        let carol = try await world.sleepingPhone("carol", at: server.address)
        let alice = try await world.onlinePhone("alice", at: server.address)
        try await Self.rings(carol, alice)
        let before = try #require(await simulator.snapshot())
        for number in 1...4 {
            let user = Handle(stringLiteral: "bad\(number)")
            _ = try await world.awayPhone(
                user.text, at: server.address, push: [.voip("bad0" + String(repeating: "\(number)", count: 60))])
            let call = try await alice.softphone.call(.user(user))
            #expect(try await alice.ended(call).reason == .noDevices)
            let push = try #require(try world.reader().pushes(PushFilter(call: call)).first)
            #expect(push.status == .rejected && push.reason == "BadDeviceToken")
            #expect(try world.reader().devices(user: user).flatMap(\.tokens) == [])
            try await Self.rings(carol, alice)
        }
        let after = try #require(await simulator.snapshot())
        #expect(after.counts.rejected == ["BadDeviceToken": 4])
        #expect(after.counts.connections > before.counts.connections)
    }
}
