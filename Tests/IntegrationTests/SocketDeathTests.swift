import CallCore
import CallServer
import CallStore
import CallVocabulary
import SoftphoneKit
import SoftphoneSession
import StoreInterface
import Testing

/// Sockets that break without a close frame, at either end and in every state.
@Suite("A socket that breaks", .world)
struct SocketDeathTests {
    /// Long enough for a phone that reconnects.
    private static let window = Duration.seconds(10)

    @Test("at the caller while it rings: after a timely reconnect the call rings on and is answered")
    func callerComesBack() async throws {
        let (alice, wire, bob) = try await ends()
        let call = try await alice.softphone.call(.user("bob"))
        _ = try await alice.state(.ringing, of: call)
        let mark = alice.events.count
        wire.break(forGood: true)
        try await alice.events.first("the caller is cut off", from: mark) { $0.isDown ? true : nil }
        // Answered while the caller is offline; it gets the answer when it reconnects.
        try await bob.softphone.answer(call, sdp: .text("answer"))
        wire.repair()
        let opened = try await alice.events.first("the caller is back", from: mark) { $0.opened }
        #expect(opened.resumed)
        #expect(try await alice.state(.answered, of: call).sdp == .text("answer"))
        try await alice.softphone.connected(call)
        try await bob.softphone.connected(call)
        _ = try await bob.state(.connected, of: call)
        #expect(try await alice.hangUp(call, seenBy: bob) == .hangup)
    }

    @Test("for good at the caller while it rings ends the call with connection_lost, and the callee has a missed call")
    func callerStaysAway() async throws {
        let (alice, wire, bob) = try await ends(window: .milliseconds(500))
        let call = try await alice.softphone.call(.user("bob"))
        _ = try await alice.state(.ringing, of: call)
        wire.break(forGood: true)
        let ended = try await bob.ended(call)
        #expect(ended.reason == .connectionLost)
        #expect(ended.by?.user == "alice")
        #expect(try world.reader().calls().map(\.endReason) == [.connectionLost])
        let opened = try await world.phone("bob", at: bob.address).softphone.connect()
        #expect(opened.missed.map(\.call) == [call])
        // The caller gets the end when it finally reconnects.
        wire.repair()
        #expect(try await alice.ended(call).reason == .connectionLost)
    }

    @Test(
        "for good at the callee after the answer ends the call with connection_lost, not before the window"
    )
    func calleeStaysAway() async throws {
        let window = Duration.milliseconds(500)
        let (bob, wire, alice) = try await ends("bob", "alice", window: window)
        let call = try await alice.softphone.call(.user("bob"))
        _ = try await bob.incoming()
        try await bob.softphone.answer(call)
        _ = try await alice.state(.answered, of: call)
        wire.break(forGood: true)
        #expect(try await alice.ended(call).reason == .connectionLost)
        let stored = try #require(try world.reader().calls().first)
        let (answered, ended) = (try #require(stored.answeredAt), try #require(stored.endedAt))
        #expect(ended - answered >= window)
        #expect(stored.endedBy?.user == "bob")
    }

    @Test("at both ends of a connected call: both reconnect and it continues; for good, it ends with connection_lost")
    func bothEnds() async throws {
        let server = try await world.startServer { $0.timers.resume = .seconds(3) }
        let wire = try world.wire(to: server.address)
        let alice = try await world.phone("alice", at: wire.address)
        let bob = try await world.phone("bob", at: wire.address)
        let call = try await alice.connects(to: bob)
        let marks = (alice.events.count, bob.events.count)
        wire.break()
        for (phone, mark) in [(alice, marks.0), (bob, marks.1)] {
            #expect(try await phone.events.first("the phone is back", from: mark) { $0.opened }.resumed)
        }
        try await alice.softphone.update(CallUpdate(call: call, kind: .hold))
        try await bob.events.first("the hold") { $0 == .update(CallUpdate(call: call, kind: .hold)) ? true : nil }
        #expect(try world.reader().calls().map(\.state) == [.connected])

        wire.break(forGood: true)
        let ended = try await eventually("the call is over") {
            try world.reader().calls(CallFilter(isLive: false)).first
        }
        #expect(ended.endReason == .connectionLost)
        // Neither user is busy any more: a call between them connects after they reconnect.
        wire.repair()
        for phone in [alice, bob] { #expect(try await phone.ended(call).reason == .connectionLost) }
        let next = try await alice.softphone.call(.user("bob"))
        try await bob.rings(next)
        try await bob.softphone.decline(next)
        #expect(try await alice.ended(next).reason == .declined)
    }

    /// One phone behind its own wire, and another on a working network.
    private func ends(
        _ one: String = "alice", _ other: String = "bob", window: Duration = Self.window
    ) async throws -> (Phone, Wire, Phone) {
        let server = try await world.startServer { $0.timers.resume = window }
        let wire = try world.wire(to: server.address)
        let phones = (try await world.phone(one, at: wire.address), try await world.phone(other, at: server.address))
        try await phones.0.softphone.connect()
        try await phones.1.softphone.connect()
        return (phones.0, wire, phones.1)
    }
}
