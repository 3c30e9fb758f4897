import CallCore
import CallServer
import CallStore
import CallVocabulary
import Foundation
import SoftphoneKit
import SoftphoneSession
import StoreInterface
import Testing

@Suite("A draining server", .world, .serialized, .timeLimit(.minutes(3)))
struct DrainTests {
    /// Two online phones, one of which calls the other repeatedly.
    private struct Line: Sendable {
        /// The calls of this line until the server refused one.
        struct Record: Sendable {
            var calls: [CallID] = []
            var refusal: SoftphoneError?
        }

        let caller: Phone
        let callee: Phone
        /// Each call after its end.
        let over = Journal<CallID>()

        /// Makes complete calls, one after the other, until one is refused.
        func callUntilRefused() async throws -> Record {
            var record = Record()
            let user = try await callee.softphone.connect().user
            try await caller.softphone.connect()
            while record.calls.count < 2000 {
                let call: CallID
                do {
                    call = try await caller.softphone.call(.user(user))
                } catch {
                    record.refusal = error
                    return record
                }
                record.calls.append(call)
                try await talk(call)
                over.add(call)
            }
            return record
        }

        private func talk(_ call: CallID) async throws {
            try await caller.isAnswered(by: callee, call)
            try await caller.hangUp(call, seenBy: callee)
        }
    }

    private static func line(_ number: Int, at address: String) async throws -> Line {
        Line(
            caller: try await world.phone("alice\(number)", at: address),
            callee: try await world.phone("carol\(number)", at: address))
    }

    @Test("under constant calls accepts no new one, lets each live one end by itself, and stops")
    func underLoad() async throws {
        _ = try await world.startSimulator()
        let (server, address) = try await world.serve("--push-sim")
        var steady: [(line: Line, call: CallID)] = []
        for number in 10..<13 {
            let line = try await Self.line(number, at: address)
            steady.append((line, try await line.caller.connects(to: line.callee)))
        }
        // A woken phone rings meanwhile: an unanswered call is not lost.
        let bob = try await world.sleepingPhone("bob", at: address)
        let dave = try await world.onlinePhone("dave", at: address)
        let ringing = try await dave.softphone.call(.user("bob"), ringTime: .seconds(120))
        _ = try await dave.state(.ringing, of: ringing)

        var busy: [Line] = []
        for number in 0..<4 { busy.append(try await Self.line(number, at: address)) }
        let (drain, records) = try await withThrowingTaskGroup(of: Line.Record.self) { group in
            for line in busy { group.addTask { try await line.callUntilRefused() } }
            for line in busy {
                _ = try await eventually("the line is busy") { line.over.count > 3 ? true : nil }
            }
            let drain = try world.start("drain")
            return (drain, try await group.reduce(into: [Line.Record]()) { $0.append($1) })
        }
        for record in records {
            guard case .refused(let error)? = record.refusal, error.code == .draining else {
                Issue.record("the line ended by \(record.refusal.map { "\($0)" } ?? "its limit")")
                continue
            }
        }
        let online = (busy + steady.map(\.line)).flatMap { [$0.caller, $0.callee] }
        try await Self.areTold(online + [dave])
        try await drain.errors.first("what is left is shown") { $0.hasSuffix(" live") ? true : nil }
        #expect(drain.errors.entries.first == "the server on \(world.folder) takes no new calls")

        // The server reports its live calls once a second: it has reported some several times.
        let begin = try await Self.uptime()
        _ = try await eventually("the drain has waited for a while") {
            try await Self.uptime() >= begin + 2.5 ? true : nil
        }
        try await bob.softphone.answer(ringing)
        try await dave.talks(with: bob, in: ringing)
        for (line, call) in steady {
            // The drain waits for this call too.
            #expect(drain.output.count == 0)
            try await line.callee.softphone.hangup(call)
            #expect(try await line.caller.ended(call).reason == .hangup)
        }
        #expect(try await dave.hangUp(ringing, seenBy: bob) == .hangup)

        let result = try await drain.result()
        #expect(result.ending == .exit(0), "\(result.errors)")
        #expect(result.output == "no call is live; the server has stopped")
        #expect(try await server.ending() == .exit(0))
        let made = records.flatMap(\.calls) + steady.map(\.call) + [ringing]
        try await Self.nothingIsLost(made, at: address, dave)
    }

    /// Checks that all phones are informed, with or without a call.
    private static func areTold(_ phones: [Phone]) async throws {
        for phone in phones {
            try await phone.events.first("the server says that it drains") { event -> Bool? in
                if case .draining = event { true } else { nil }
            }
        }
    }

    /// The machine's uptime, in seconds.
    private static func uptime() async throws -> Double {
        let stats = try await world.json("stats")
        return try #require((stats["process"] as? [String: Any])?["uptime_seconds"] as? Double)
    }

    /// Checks that each call is in the store with the end its phones got, and that the next server recovers no live
    /// call.
    private static func nothingIsLost(_ made: [CallID], at address: String, _ dave: Phone)
        async throws
    {
        #expect(made.count > 12)
        let stored = try world.reader().calls(CallFilter(limit: 10_000))
        #expect(Set(stored.map(\.id)) == Set(made))
        #expect(stored.count == made.count)
        #expect(stored.filter { $0.state != .ended || $0.endReason != .hangup || $0.connectedAt == nil } == [])

        let mark = dave.events.count
        let (server, again) = try await world.serve(port: try World.port(of: address), "--push-sim")
        #expect(again == address)
        #expect(server.errors.entries.contains { $0.contains(#""live_calls_recovered":0"#) })
        let audit = try await world.reveille("pushes audit")
        #expect(audit.ending == .exit(0), "\(audit.output)")
        // The phones reconnect by themselves, and the server accepts calls again.
        try await dave.events.first("dave is back", from: mark) { $0.opened }
        let erin = try await world.phone("erin", at: address)
        let call = try await dave.connects(to: erin)
        try await erin.hangUp(call, seenBy: dave)
    }

    @Test("continues after the timeout, with exit code 1, and a second drain command waits again")
    func timeIsUp() async throws {
        let (server, address) = try await world.serve()
        let line = try await Self.line(0, at: address)
        let call = try await line.caller.connects(to: line.callee)
        let first = try await world.reveille("drain --timeout 2s")
        #expect(first.ending == .exit(1))
        #expect(first.output.isEmpty)
        #expect(
            first.errorLines.last
                == "reveille: the time is up and the server still drains; 1 call (1 connected) live")
        let error = await #expect(throws: SoftphoneError.self) {
            try await line.callee.softphone.call(.user("nobody"))
        }
        guard case .refused(let refusal)? = error else { throw InVain(what: "the refusal of a new call") }
        #expect(refusal.code == .draining)
        let check = try await world.reveille("check")
        #expect(check.ending == .exit(1))
        #expect(check.output.hasPrefix("REVEILLE WARNING - draining: this server takes no new calls | "))

        let second = try world.start("drain")
        try await second.errors.first("the call that is left") { $0 == "1 call (1 connected) live" ? true : nil }
        try await line.caller.softphone.hangup(call)
        #expect(try await line.callee.ended(call).reason == .hangup)
        #expect(try await second.ending() == .exit(0))
        #expect(try await server.ending() == .exit(0))
    }

    @Test("that is killed gives its drain command exit code 2, with the number of calls left")
    func killed() async throws {
        let (server, address) = try await world.serve()
        let line = try await Self.line(0, at: address)
        _ = try await line.caller.connects(to: line.callee)
        let drain = try world.start("drain")
        try await drain.errors.first("the call that is left") { $0 == "1 call (1 connected) live" ? true : nil }
        server.send(SIGKILL)
        let result = try await drain.result()
        #expect(result.ending == .exit(2))
        #expect(result.errors.contains("the server went away while it drained"))
        #expect(result.errors.hasSuffix("; 1 call (1 connected) live"))
    }
}
