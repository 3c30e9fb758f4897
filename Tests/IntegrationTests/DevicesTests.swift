import CallCore
import CallServer
import CallStore
import CallVocabulary
import EventLoop
import SoftphoneKit
import SoftphoneSession
import StoreInterface
import Testing

@Suite("Devices and sessions", .world)
struct DevicesTests {
    @Test("of two ringing devices one answers, and the other gets answered_elsewhere")
    func answeredElsewhere() async throws {
        let (alice, bob) = try await pair()
        let call = try await alice.softphone.call(.user("bob"))
        for device in bob { #expect(try await device.incoming().id == call) }
        try await bob[1].softphone.answer(call)
        let winner = bob[1].softphone.configuration.session.device.id
        #expect(try await alice.state(.answered, of: call).by?.device == winner)
        let lost = try await bob[0].ended(call)
        #expect(lost.reason == .answeredElsewhere)
        #expect(lost.by?.device == winner)
        #expect(lost.callKitReason == "answeredElsewhere")
        #expect(try world.reader().calls().map(\.answeredBy?.device) == [winner])
        try await alice.softphone.hangup(call)
        _ = try await bob[1].ended(call)
    }

    @Test("of two ringing devices one declines for both, and the caller gets declined")
    func declinedElsewhere() async throws {
        let (alice, bob) = try await pair()
        let call = try await alice.softphone.call(.user("bob"))
        for device in bob { _ = try await device.incoming() }
        try await bob[0].softphone.decline(call)
        #expect(try await bob[1].ended(call).reason == .declinedElsewhere)
        let own = try await bob[0].ended(call)
        #expect(own.reason == .declined)
        #expect(own.isOwnAct)
        #expect(try await alice.ended(call).reason == .declined)
    }

    @Test("a call cancelled while it rings ends on every device")
    func cancelled() async throws {
        let (alice, bob) = try await pair()
        let call = try await alice.softphone.call(.user("bob"))
        _ = try await alice.state(.ringing, of: call)
        for device in bob { _ = try await device.incoming() }
        try await alice.softphone.hangup(call)
        for device in bob { #expect(try await device.ended(call).reason == .cancelled) }
        #expect(try await alice.ended(call).isOwnAct)
        // Bob missed the call.
        let opened = try await world.phone("bob", at: bob[0].address).softphone.connect()
        #expect(opened.missed.map(\.reason) == [.cancelled])
    }

    @Test("a session resumed after its socket was cut replays missed events, in order, each once")
    func resumed() async throws {
        let server = try await world.startServer()
        let alice = try await world.phone("alice", at: server.address)
        let bob = try await world.phone("bob", at: server.address) {
            // Stays offline while the others continue.
            $0.session.backoffBase = .milliseconds(400)
            $0.session.backoffCeiling = .milliseconds(400)
        }
        let call = try await alice.connects(to: bob)
        for round in 0..<3 {
            let mark = bob.events.count
            bob.softphone.cutConnection()
            for number in 0..<20 {
                let custom = RawJSON(bytes: Array("\(round * 20 + number)".utf8))
                try await alice.softphone.update(CallUpdate(call: call, kind: .info, custom: custom))
            }
            try await bob.softphone.update(CallUpdate(call: call, kind: .mute))
            let opened = try await bob.events.first("bob resumes", from: mark) { $0.opened }
            #expect(opened.resumed)
        }
        let last = RawJSON(bytes: Array("59".utf8))
        try await bob.events.first("the last one") { $0.update?.custom == last ? true : nil }
        let numbers = bob.events.entries.compactMap {
            $0.update?.custom.map { String(decoding: $0.bytes, as: UTF8.self) }
        }
        #expect(numbers == (0..<60).map(String.init))
        #expect(try await alice.hangUp(call, seenBy: bob) == .hangup)
        #expect(alice.events.entries.count { $0.update?.kind == .mute } == 3)
        #expect(bob.events.entries.count { $0.call(call, in: .ended) != nil } == 1)
    }

    /// A caller, and another user with two devices, all online.
    private func pair() async throws -> (caller: Phone, callee: [Phone]) {
        let server = try await world.startServer()
        let alice = try await world.onlinePhone("alice", at: server.address)
        let bob = [
            try await world.onlinePhone("bob", at: server.address),
            try await world.onlinePhone("bob", at: server.address),
        ]
        return (alice, bob)
    }
}

extension SoftphoneEvent {
    fileprivate var update: CallUpdate? {
        if case .update(let update) = self { update } else { nil }
    }
}
