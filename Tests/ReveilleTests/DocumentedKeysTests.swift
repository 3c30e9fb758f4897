import AdminProtocol
import CallCore
import CallMonitor
import CallVocabulary
import Foundation
import Testing

@testable import reveille

/// `AdminAPI.md` against the types.
@Suite("The documented keys of the admin API and of the commands' JSON")
struct DocumentedKeysTests {
    private static let article: [String] = {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let file = root.appending(path: "Sources/AdminProtocol/AdminProtocol.docc/AdminAPI.md")
        return ((try? String(contentsOf: file, encoding: .utf8)) ?? "").components(separatedBy: "\n")
    }()

    /// The words in backticks in one cell of a row.
    private static func names(_ row: String, cell: Int) -> [String] {
        let cells = row.components(separatedBy: "|")
        guard cells.count > cell + 1 else { return [] }
        return cells[cell + 1].components(separatedBy: "`").enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
    }

    /// The keys that the article has for a view.
    private static func keys(of view: String) -> [String] {
        guard let head = article.firstIndex(of: "### `\(view)`") else { return [] }
        return article[(head + 1)...].prefix { !$0.hasPrefix("#") }.filter { $0.hasPrefix("| `") }
            .flatMap { names($0, cell: 0) }
    }

    private static func keys(_ value: some Encodable) throws -> Set<String> {
        let object = try JSONSerialization.jsonObject(with: JSONEncoder().encode(value)) as? [String: Any]
        return Set(try #require(object).keys)
    }

    private static let time = Timestamp(Scenarios.begin)

    private static func call() -> CallView {
        var call = Scenarios.wokenAndAnswered.call
        call.mergedInto = Scenarios.id(1)
        call.toCount = 950
        call.lostAt = Scenarios.begin
        call.forwards = [
            CallRecord.Forward(reason: .busy, to: .group("sales"), at: Scenarios.begin, firstMember: 1)
        ]
        return CallView(call, counts: CallCounts())
    }

    private static func webhook() -> WebhookView {
        var view = WebhookView(name: "a", url: "https://a.example/", events: [.callEnded], state: .active, backlog: 0)
        (view.oldestAt, view.lastTakenAt, view.lastFailureAt) = (time, time, time)
        view.lastFailure = "the receiver answered 500"
        return view
    }

    /// Every view with all that it can have.
    private static func samples() throws -> [(String, any Encodable)] {
        var push = try #require(Scenarios.rejected.pushes.first)
        push.report = .awaited
        push.reportError = "no"
        push.reportedAt = Scenarios.begin
        push.reportDueAt = Scenarios.begin
        var leg = try #require(Scenarios.wokenAndAnswered.legs.first)
        leg.endReason = .hangup
        let device = DeviceRecord(
            key: Scenarios.phone, platform: .ios, app: "app", name: "name", tokens: [], seenAt: Scenarios.begin,
            unreportedStreak: 1, suspendedAt: Scenarios.begin, probes: 1, nextProbeAt: Scenarios.begin)
        let alice = Scenarios.handle("alice")
        let target = CallTarget.user(alice)
        let summary = UserSummary(
            handle: alice, policy: UserPolicy(),
            rules: CallRules(forwardBusy: target, forwardNoAnswer: target, noAnswerAfter: .seconds(20)), aliases: [],
            groups: [], devices: 0, devicesOnline: 0, liveCalls: 0, revokedBefore: Scenarios.begin)
        let session = SessionView(
            user: alice, deviceID: Scenarios.id(1), platform: .ios, app: "app", state: .away,
            address: "192.0.2.7:4711", wakeCallID: Scenarios.id(2),
            openedAt: time, since: time)
        var step = TimelineEntryView(at: time, offsetMilliseconds: 0, step: "ended")
        (step.user, step.deviceID, step.detail) = (alice, Scenarios.id(1), "hangup")
        let stats = StatsView.sample()
        let group = CallGroup(name: "sales", strategy: .all, members: [alice], delays: [alice: .seconds(5)])
        return [
            ("CallView", call()), ("CallCounts", CallCounts()),
            ("CallDetail", CallDetail(call: call(), legs: [], pushes: [], timeline: [])), ("LegView", LegView(leg)),
            ("TimelineEntryView", step), ("PushView", PushView(push)),
            ("TokenView", TokenView(push.token.asking(for: "linphone"), registeredAt: Scenarios.begin)),
            ("AuditView", AuditView(LedgerCounts(), violations: [], overdue: [])), ("DeviceView", DeviceView(device)),
            ("SessionView", session), ("UserView", UserView(summary)), ("GroupView", GroupView(group)),
            ("AliasView", AliasView(Alias(handle: alice, user: alice))), ("LogLevelView", LogLevelView(level: "info")),
            ("WebhooksView", WebhooksView(endpoints: [])), ("WebhookView", webhook()),
            ("WebhookTestView", WebhookTestView(isTaken: false, status: 500, failure: "x", tookMilliseconds: 1)),
            ("ServerInfo", ServerInfo.sample(isDraining: true)),
            ("ServerProblem", ServerProblem(.tokensRefused, of: "APNs production", topics: ["a"], "push: refused")),
            ("RealmInfo", try #require(ServerInfo.sample().realm)), ("StatsView", stats),
            ("StatsView.Calls", stats.calls),
            ("StatsView.Sessions", stats.sessions), ("StatsView.Stage", stats.stages[0]),
            ("StatsView.Pushes", stats.pushes), ("StatsView.PushPool", stats.pushPools[0]),
            ("StatsView.Store", stats.store), ("StatsView.Queue", stats.queues[0]),
            ("StatsView.Limit", stats.limits[0]),
            ("StatsView.Process", stats.process),
        ]
    }

    @Test("each view has the keys that the article lists, and no view is left out")
    func views() throws {
        let samples = try Self.samples()
        for (name, sample) in samples {
            let documented = Self.keys(of: name)
            #expect(try Self.keys(sample) == Set(documented), "\(name)")
            #expect(documented.count == Set(documented).count, "\(name): a key is there twice")
        }
        let heads = Self.article.filter { $0.hasPrefix("### `") }.map { $0.dropFirst(5).dropLast() }
        #expect(Set(heads.map(String.init)) == Set(samples.map(\.0)))
    }

    @Test("each view that backends get has its keys in their OpenAPI document")
    func backendSchemas() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let file = try Data(contentsOf: root.appending(path: "Resources/reveille.backend.openapi.json"))
        let document = try JSONSerialization.jsonObject(with: file) as? [String: Any]
        let components = document?["components"] as? [String: Any]
        let schemas = try #require(components?["schemas"] as? [String: [String: Any]])
        let samples = Dictionary(uniqueKeysWithValues: try Self.samples())
        for (schema, view) in [
            ("CallRecord", "CallView"), ("PushRecord", "PushView"), ("User", "UserView"), ("Group", "GroupView"),
        ] {
            let properties = schemas[schema]?["properties"] as? [String: Any] ?? [:]
            let sample = try #require(samples[view])
            #expect(try Self.keys(sample) == Set(properties.keys), "\(schema)")
        }
    }

    /// Every request with all that it can have.
    private static func requests() -> [any AdminRequest] {
        let (bob, device) = (Scenarios.handle("bob"), Scenarios.phone.device)
        let target = TargetView(.user(bob))
        let change = UserPolicyChange(callWaiting: true, decline: .all, doNotDisturb: true, missedCalls: .off)
        var calls = ListCalls(
            live: true, user: bob, reason: .busy, state: .ended, since: Scenarios.begin, until: Scenarios.begin,
            limit: 1, after: "x")
        calls.id = IDPart("0b9c")
        var pushes = ListPushes(
            purpose: .call, status: .sent, report: .awaited, user: bob, callID: Scenarios.id(1), open: true, limit: 1,
            after: "x")
        pushes.id = IDPart("0b9c")
        return [
            calls,
            GetCall(Scenarios.id(1)), EndCall(Scenarios.id(1)), SubscribeToCalls(user: bob, intervalMilliseconds: 250),
            ListSessions(user: bob, limit: 1, after: "x"), DropSession(user: bob, deviceID: device),
            ListDevices(user: bob, suspended: true, limit: 1, after: "x"), GetDevice(user: bob, deviceID: device),
            ResumeDevice(user: bob, deviceID: device), DeleteDevice(user: bob, deviceID: device),
            pushes,
            GetPush(Scenarios.id(1)), AuditPushes(since: Scenarios.begin), GetUser(bob), SetUser(bob, change),
            BlockCallers(bob, [bob]), UnblockCallers(bob, [bob]),
            ForwardCalls(bob, busy: target, noAnswer: target, noAnswerSeconds: 20),
            RevokeTokens(bob, before: Scenarios.begin), ListGroups(after: "x"),
            GetGroup(bob),
            SetGroup(name: bob, strategy: .all, members: [bob], delays: ["bob": 5]), DeleteGroup(bob),
            ListAliases(after: "x"),
            SetAlias(alias: bob, user: bob), DeleteAlias(bob), ListWebhooks(), PauseWebhook("a"), ResumeWebhook("a"),
            ReplayWebhook("a", since: Scenarios.begin), TestWebhook("a"), GetStats(),
            SubscribeToStats(intervalMilliseconds: 1000),
            GetServerInfo(), Drain(deadlineMilliseconds: 1), StopServer(), SetLogLevel("info"),
            Unsubscribe(subscription: 1),
        ]
    }

    @Test("each method takes the parameters that the article lists, and no method is left out")
    func methods() throws {
        let requests = Self.requests()
        #expect(Set(requests.map { type(of: $0).method }) == Set(AdminMethod.allCases))
        for request in requests {
            let method = type(of: request).method.rawValue
            let row = try #require(Self.article.first { $0.hasPrefix("| `\(method)` |") }, "\(method)")
            #expect(try Self.keys(request) == Set(Self.names(row, cell: 1)), "\(method)")
        }
    }

    @Test("a view that was written is read as what it was")
    func roundTrip() throws {
        func same<View: Codable & Equatable>(_ view: View) throws {
            #expect(try JSONDecoder().decode(View.self, from: JSONEncoder().encode(view)) == view)
        }
        try same(Self.call())
        try same(
            CallDetail(
                StoredCall(
                    call: Scenarios.unreported.call, legs: Scenarios.unreported.legs,
                    pushes: Scenarios.unreported.pushes)))
        try same(StatsView.sample(isDraining: true))
    }
}
