import CallCore
import CallServer
import CallStore
import CallVocabulary
import Foundation
import PhoneSimulator
import PushSimulator
import PushVocabulary
import SoftphoneKit
import SoftphoneSession
import StoreInterface
import Testing

@Suite("Simulated browsers, from the call to the click", .world, .timeLimit(.minutes(2)))
struct SimulatedBrowserTests {
    @Test("a push wakes a browser, whose service worker reports it over HTTP, and whose page answers")
    func answered() async throws {
        let seen = Journal<SeenWebPush>()
        let simulator = try await world.startSimulator { $0.onWebPush = { seen.add($0) } }
        let server = try await world.startServer()
        let bob = try await world.sleepingPhone("bob", at: server.address) { $0.system = .web }
        let registered = try #require(try world.reader().devices(user: "bob").first?.tokens.first?.token)
        #expect(registered.provider == .webpush && registered.kind == .data && registered.token == bob.token)
        let alice = try await world.onlinePhone("alice", at: server.address)
        let call = try await alice.softphone.call(.user("bob"))
        #expect(try await bob.woken().call == call)
        #expect(try await bob.sent(.report, of: call) == nil)
        try await alice.isAnswered(by: bob, call)
        try await alice.hangUp(call)
        try await bob.asleep()

        let record = try await world.push("is reported", of: call) { $0.report == .reported }
        #expect(record.status == .accepted && record.delivery == .webPush && record.token == registered)
        let times = [record.intendedAt, record.sentAt, record.answeredAt, record.reportedAt].compactMap(\.self)
        #expect(times.count == 4 && record.intendedAt <= times[1] && times[1] <= times[2])
        let pushed = try #require(seen.entries.first).push
        #expect(seen.count == 1 && pushed.urgency == "high")
        #expect(pushed.timeToLive > .zero && pushed.timeToLive <= record.expiresAt - record.intendedAt)
        let content = try JSONObject(String(decoding: try #require(pushed.payload), as: UTF8.self))
        #expect(content["uuid"] as? String == call.description && content["push_id"] as? String == "\(record.id)")
        #expect(content["handle"] as? String == "alice" && content["has_video"] as? Bool == false)
        let state = try #require(await simulator.snapshot())
        #expect(state.counts.accepted == 1 && state.counts.reported == 1 && state.counts.rejectedTotal == 0)
        #expect(state.counts.contractViolations == 0 && state.counts.dropped.isEmpty)
        #expect(
            state.phone(bob.token)?.alerts.map { [$0.title, $0.body, $0.collapseID] }
                == [["alice", "Incoming call", call.description]])
    }

    @Test("the service worker declines the call without the page")
    func declined() async throws {
        let (_, server) = try await world.startPushing()
        let bob = try await world.sleepingPhone("bob", at: server.address) {
            $0.system = .web
            $0.click = .decline
        }
        let alice = try await world.onlinePhone("alice", at: server.address)
        let mark = bob.events.count
        let call = try await alice.softphone.call(.user("bob"))
        #expect(try await alice.ended(call).reason == .declined)
        #expect(try await bob.sent(.report, of: call) == nil)
        #expect(try await bob.sent(.decline, of: call) == nil)
        try await world.push("is settled", of: call) { $0.status == .accepted && $0.report != .awaited }
        let sessions = bob.events.entries.dropFirst(mark).filter { $0.app?.opened != nil }
        #expect(sessions.isEmpty)
    }

    @Test("a subscription that is over is removed: the caller is told at once")
    func gone() async throws {
        let (simulator, server) = try await world.startPushing()
        let bob = try await world.sleepingPhone("bob", at: server.address) { $0.system = .web }
        let alice = try await world.onlinePhone("alice", at: server.address)
        await simulator.removeApp(fromPhone: bob.token)
        let call = try await alice.softphone.call(.user("bob"))
        #expect(try await alice.ended(call).reason == .noDevices)
        let record = try await world.push("is rejected", of: call) { $0.status == .rejected }
        #expect(record.reason?.isEmpty == false && record.report == nil)
        _ = try await eventually("the token is removed") {
            try world.reader().devices(user: "bob").flatMap(\.tokens).isEmpty ? true : nil
        }
        #expect(await simulator.snapshot()?.counts.rejected == ["gone": 1])
    }

    @Test("a page that shows nothing loses its subscription after the third push")
    func silent() async throws {
        let simulator = try await world.startSimulator { $0.notificationWindow = .milliseconds(50) }
        let server = try await world.startServer { $0.timers.report = .milliseconds(200) }
        let bob = try await world.sleepingPhone("bob", at: server.address) {
            $0.system = .web
            $0.reportsPushes = false
        }
        let alice = try await world.onlinePhone("alice", at: server.address)
        for round in 1...SimulatedBrowser.silentUntilRevoked {
            let call = try await alice.softphone.call(.user("bob"))
            _ = try await eventually("the browser counts a silent push") {
                await simulator.snapshot()?.phone(bob.token)?.failures == round ? true : nil
            }
            try await alice.hangUp(call)
        }
        let call = try await alice.softphone.call(.user("bob"))
        #expect(try await alice.ended(call).reason == .noDevices)
        let counts = try #require(await simulator.snapshot()?.counts)
        #expect(counts.revoked == 1 && counts.rejected == ["gone": 1])
    }

    @Test("a push that comes late, after the call: the browser shows a missed call, and the service worker reports it")
    func late() async throws {
        let (simulator, server) = try await world.startPushing { $0.timers.ring = .seconds(1) }
        let bob = try await world.sleepingPhone("bob", at: server.address) { $0.system = .web }
        let alice = try await world.onlinePhone("alice", at: server.address)
        await simulator.inject(PushFault(.deliverLate(.milliseconds(1500)), service: .webpush, count: 1))
        let mark = bob.events.count
        let call = try await alice.softphone.call(.user("bob"))
        #expect(try await alice.ended(call).reason == .ringTimeout)
        #expect(try await bob.woken().call == call)
        #expect(try await bob.sent(.report, of: call) == nil)
        let state = try #require(await simulator.snapshot())
        #expect(state.counts.reported == 1)
        #expect(
            state.phone(bob.token)?.alerts.map { [$0.title, $0.body, $0.collapseID] }
                == [["alice", "Missed call", call.description]])
        #expect(!bob.events.entries.dropFirst(mark).contains { $0.app != nil })
    }

    @Test("a push that never comes is unreported; the next one comes")
    func never() async throws {
        let (simulator, server) = try await world.startPushing {
            // Long enough for the report of the second push.
            $0.timers.report = .seconds(2)
            $0.timers.ring = .seconds(1)
        }
        let bob = try await world.sleepingPhone("bob", at: server.address) { $0.system = .web }
        let alice = try await world.onlinePhone("alice", at: server.address)
        await simulator.inject(PushFault(.lose, service: .webpush, count: 1))
        let lost = try await alice.softphone.call(.user("bob"))
        #expect(try await alice.ended(lost).reason == .ringTimeout)
        try await world.push("is unreported", of: lost) { $0.status == .accepted && $0.report == .unreported }
        let call = try await alice.softphone.call(.user("bob"), ringTime: .seconds(60))
        try await bob.rings(call)
        try await world.push("is reported", of: call) { $0.report == .reported }
        try await alice.hangUp(call)
    }

    @Test("a push that is reported twice counts once")
    func twice() async throws {
        let (_, server) = try await world.startPushing()
        let bob = try await world.sleepingPhone("bob", at: server.address) {
            $0.system = .web
            $0.click = .none
        }
        let alice = try await world.onlinePhone("alice", at: server.address)
        let call = try await alice.softphone.call(.user("bob"))
        let push = try await bob.woken()
        #expect(try await bob.sent(.report, of: call) == nil)
        let first = try await world.push("is reported", of: call) { $0.report == .reported }
        let body = #"{"call_id":"\#(call)","result":"reported"}"#
        let again = try await HTTPAnswer.report(server, push: push.push, token: push.wakeToken, body: body)
        #expect(again.status == 200)
        let after = try await world.push("is reported", of: call) { $0.report == .reported }
        #expect(after.reportedAt == first.reportedAt)
        #expect(try world.reader().pushes(PushFilter(call: call)).count == 1)
        try await alice.hangUp(call)
    }

    @Test("a browser that was offline gets the missed call alone: it replaces the call's push by its topic")
    func missed() async throws {
        let seen = Journal<SeenWebPush>()
        let simulator = try await world.startSimulator { $0.onWebPush = { seen.add($0) } }
        let server = try await world.startServer {
            // The TTL is in whole seconds; with 0 the push would not be stored.
            $0.timers.ring = .seconds(2)
            $0.policy.missedCalls = .alert
        }
        let bob = try await world.sleepingPhone("bob", at: server.address) { $0.system = .web }
        try await bob.moves(to: .offline)
        let alice = try await world.onlinePhone("alice", at: server.address)
        let call = try await alice.softphone.call(.user("bob"))
        #expect(try await alice.ended(call).reason == .ringTimeout)
        _ = try await eventually("the missed call's push is accepted") {
            try world.reader().pushes(PushFilter(purpose: .missedCall, call: call)).first?.status == .accepted
                ? true : nil
        }
        let pushes = seen.entries.map(\.push)
        #expect(pushes.count == 2 && pushes[0].topic == pushes[1].topic && pushes[0].topic != nil)
        let mark = bob.events.count
        try await bob.moves(to: .online)
        let notice = try await bob.events.first("the missed call's notification", from: mark) { event in
            if case .notified(let notice) = event { notice } else { nil }
        }
        #expect(notice.title == "alice" && notice.body == "Missed call" && notice.type == "missed_call")
        let state = try #require(await simulator.snapshot())
        #expect(state.counts.replaced == 1 && state.counts.delivered == 1)
        #expect(!bob.events.entries.contains { if case .woken = $0 { true } else { false } })
        _ = try await eventually("the notification is shown") {
            await simulator.snapshot()?.phone(bob.token)?.alerts.map(\.body) == ["Missed call"] ? true : nil
        }
    }

    @Test("a server with another key needs new subscriptions: the old one is refused, and the page makes a new one")
    func otherKey() async throws {
        let (simulator, server) = try await world.startPushing()
        let bob = try await world.sleepingPhone("bob", at: server.address) { $0.system = .web }
        let key = try #require(await bob.phone.serverKey())
        #expect(await simulator.snapshot()?.phone(bob.token)?.topic == key)
        // With the key of the server the subscription is kept; with another one it is made anew.
        let again = try await world.sleepingPhone("bob", at: server.address) {
            $0.system = .web
            ($0.deviceToken, $0.serverKey) = (bob.token, key)
        }
        #expect(again.token == bob.token)
        let other = try await world.sleepingPhone("bob", at: server.address) {
            $0.system = .web
            ($0.deviceToken, $0.serverKey) = (bob.token, "another")
        }
        #expect(other.token != bob.token)
    }
}

extension IPhone {
    /// Waits for the service worker's request.
    /// - Returns: why the server did not accept it; nil if it did.
    fileprivate func sent(_ request: WakeablePhone.WorkerRequest, of call: CallID) async throws -> String? {
        try await events.first("\(request) of the service worker") { event -> String?? in
            if case .workerSent(request, let push, let failure) = event, push.call == call {
                .some(failure)
            } else {
                nil
            }
        }
    }

    /// The user or the network moves the phone.
    fileprivate func moves(to state: PhoneLink.PhoneState) async throws {
        let isTaken = await phone.move(to: state)
        guard isTaken else { throw InVain(what: "the phone is \(state)") }
    }
}
