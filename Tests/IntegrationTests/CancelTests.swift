import CallCore
import CallServer
import CallStore
import CallVocabulary
import PushClient
import PushCore
import PushSimulator
import SoftphoneKit
import SoftphoneSession
import StoreInterface
import Testing

@Suite("A cancelled call", .world)
struct CancelTests {
    @Test(
        "whose push has no response yet ends at once; the push is unknown, and a late report corrects it"
    )
    func pushInFlight() async throws {
        let (simulator, server, handset) = try await sleeper() {
            $0.timers.report = .milliseconds(200)
            for index in $0.push.apns.indices { $0.push.apns[index].policy.requestTimeout = .seconds(2) }
        }
        let bob = try await world.awayPhone("bob", at: server.address, push: [handset.token])
        let alice = try await world.onlinePhone("alice", at: server.address)
        await simulator.inject(PushFault(.neverAnswer, count: 1))
        let call = try await alice.softphone.call(.user("bob"))
        _ = try await eventually("the push service has the push and keeps silent") {
            await simulator.snapshot()?.counts.unanswered == 1 ? true : nil
        }
        #expect(try world.reader().pushes().map(\.status) == [.sent])
        #expect(try await alice.hangUp(call) == .cancelled)
        #expect(try world.reader().calls().map(\.endReason) == [.cancelled])

        // No response arrived: the delivery is unknown, and no push is sent for an ended call.
        let push = try await world.push("is unknown, and unreported") {
            $0.status == .unknown && $0.report == .unreported
        }
        #expect(push.reason == "no answer in time")

        let opened = try await bob.softphone.connect()
        #expect(opened.calls.map(\.reason) == [.cancelled])
        #expect(opened.missed.map(\.call) == [call])
        try await bob.softphone.report(PushReport(push: push.id, call: call, result: .reported))
        let proven = try #require(try world.reader().push(push.id))
        #expect(proven.status == .accepted)
        #expect(proven.report == .reportedLate)
        #expect(await simulator.snapshot()?.counts.received == 1)
    }

    @Test("whose accepted push arrives late is shown as ended with the push's wake token, and accepts the late report")
    func afterAcceptBeforeWake() async throws {
        let (simulator, server, handset) = try await sleeper() { $0.timers.report = .milliseconds(200) }
        let bob = try await world.awayPhone("bob", at: server.address, push: [handset.token])
        let alice = try await world.onlinePhone("alice", at: server.address)
        await simulator.inject(PushFault(.deliverLate(.milliseconds(500)), count: 1))
        let call = try await alice.softphone.call(.user("bob"))
        try await world.push("is accepted") { $0.status == .accepted }
        #expect(try await alice.hangUp(call) == .cancelled)
        try await world.push("is unreported") { $0.report == .unreported }
        #expect(try world.reader().devices(user: "bob").map(\.unreportedStreak) == [1])

        let push = try await handset.push(of: call)
        // A phone that knows only the push.
        try await Program.script(
            "woken_late.py", "ws://\(server.address)", try #require(push.wakeToken),
            bob.softphone.configuration.session.device.id.description, call.description, push.push.description,
            "cancelled")
        let reported = try #require(try world.reader().push(push.push))
        #expect(reported.status == .accepted)
        #expect(reported.report == .reportedLate)
        #expect(try world.reader().devices(user: "bob").map(\.unreportedStreak) == [0])
        #expect(await simulator.snapshot()?.counts.received == 1)
    }

    @Test("whose phone woke and has not shown it yet ends there unseen, and its push is still reported")
    func afterWake() async throws {
        let (simulator, server, handset) = try await sleeper()
        let bob = try await world.awayPhone("bob", at: server.address, push: [handset.token]) {
            $0.session.automaticRinging = false
        }
        let alice = try await world.onlinePhone("alice", at: server.address)
        let call = try await alice.softphone.call(.user("bob"))
        let push = try await handset.push(of: call)
        try await bob.softphone.connect()
        #expect(try await bob.incoming().push == push.push)
        #expect(try world.reader().call(call)?.legs.map { $0.wokenAt != nil } == [true])
        try await alice.softphone.hangup(call)
        let ended = try await bob.ended(call)
        #expect(ended.reason == .cancelled)
        #expect(ended.callKitReason == "remoteEnded")
        #expect(!alice.events.entries.contains { $0.call(call, in: .ringing) != nil })

        try await bob.softphone.report(PushReport(push: push.push, call: call, result: .reported))
        #expect(try world.reader().pushes().map(\.report) == [.reported])
        #expect(await simulator.snapshot()?.counts.received == 1)
    }

    @Test("whose phone woke, reported and rings stops ringing there, is missed, and no push announces it")
    func afterReport() async throws {
        let (simulator, server) = try await world.startPushing()
        let bob = try await world.sleepingPhone("bob", at: server.address)
        let alice = try await world.onlinePhone("alice", at: server.address)
        let call = try await alice.softphone.call(.user("bob"))
        _ = try await alice.state(.ringing, of: call)
        try await world.push("is reported") { $0.report == .reported && $0.status == .accepted }
        #expect(try await alice.hangUp(call, seenBy: bob) == .cancelled)
        #expect(try await alice.ended(call).reason == .cancelled)
        try await bob.asleep()

        let counts = try #require(await simulator.snapshot()?.counts)
        #expect(counts.received == 1)
        #expect(counts.contractViolations == 0)
        let opened = try await world.phone("bob", at: server.address).softphone.connect()
        #expect(opened.missed.map(\.call) == [call])
        #expect(opened.missed.map(\.reason) == [.cancelled])
    }

    /// A server that pushes, and the system side of a phone.
    private func sleeper(
        _ configure: (inout ServerConfiguration) -> Void = { _ in }
    ) async throws -> (PushSimulator, CallServer, Handset) {
        let (simulator, server) = try await world.startPushing(configure)
        return (simulator, server, try await world.handset(on: simulator))
    }
}
