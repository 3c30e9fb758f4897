import CallCore
import CallServer
import CallStore
import CallVocabulary
import EventLoop
import Foundation
import PushSimulator
import SoftphoneKit
import SoftphoneSession
import StoreInterface
import Synchronization
import TestCleanup
import Testing

@Suite("A backup", .world, .serialized)
struct BackupTests {
    /// Two online phones, one of which calls the other.
    private struct Line: Sendable {
        let caller: Phone
        let callee: Phone
        let user: Handle

        /// Every third call wakes a sleeping phone and is cancelled; the others connect and are hung up.
        func call(_ number: Int) async throws {
            if number % 3 == 2 {
                let call = try await caller.softphone.call(.user("bob"), ringTime: .seconds(5))
                try await caller.hangUp(call)
                return
            }
            let call = try await caller.softphone.call(.user(user), ringTime: .seconds(5))
            try await caller.isAnswered(by: callee, call)
            try await caller.hangUp(call, seenBy: callee)
        }
    }

    @Test("taken repeatedly under load is complete: each is restored, starts a server, and passes its audit")
    func underLoad() async throws {
        _ = try await world.startSimulator()
        let (server, address) = try await world.serve("--push-sim")
        _ = try await world.sleepingPhone("bob", at: address)
        let lines = try await Self.lines(4, at: address)
        let isOver = Flag()
        let files = (0..<5).map { world.folder + "-backup-\($0)" }
        atEnd { for file in files { try? FileManager.default.removeItem(atPath: file) } }

        let made = try await withThrowingTaskGroup(of: Int.self) { group in
            for line in lines {
                group.addTask {
                    var count = 0
                    while !isOver.isSet, count < 2000 {
                        try await line.call(count)
                        count += 1
                    }
                    return count
                }
            }
            for file in files {
                try await world.output("backup \(file) --output json")
            }
            isOver.set()
            return try await group.reduce(0, +)
        }
        #expect(made > 10)
        let last = try StoreContents(file: files[4])
        let first = try StoreContents(file: files[0])
        #expect(last.calls > first.calls, "calls went on while the backups were taken")
        #expect(last.pushes > 0)
        #expect(try await server.end(by: SIGTERM) == .exit(0))
        for file in files { try await Self.startOn(file) }
    }

    private static func lines(_ count: Int, at address: String) async throws -> [Line] {
        var lines: [Line] = []
        for number in 0..<count {
            let caller = try await world.phone("alice\(number)", at: address)
            let callee = try await world.phone("carol\(number)", at: address)
            try await caller.softphone.connect()
            lines.append(Line(caller: caller, callee: callee, user: try await callee.softphone.connect().user))
        }
        return lines
    }

    /// Restores `file` into a new folder, and starts a server that recovers its live calls.
    private static func startOn(_ file: String) async throws {
        let folder = file + "-restored"
        atEnd { try? FileManager.default.removeItem(atPath: folder) }
        let restored = try await Program.reveille("restore", file, "--data", folder)
        #expect(restored.ending == .exit(0), "\(restored.errors)")
        let reader = try StoreReader.open(folder: folder)
        let calls = try reader.callCount()
        let sent = try reader.pushes(PushFilter(status: .sent, limit: .max))
        var configuration = ServerConfiguration(
            address: SocketAddress(host: "127.0.0.1", port: 0)!, data: DataFolder(path: folder))
        configuration.timers.resume = .milliseconds(200)
        let server = try await CallServer.start(configuration, log: World.log)
        atEnd { await server.stop() }
        // No phone reconnects: live calls end, and pending pushes are closed.
        _ = try await eventually("all is settled", within: .seconds(30)) {
            let live = try reader.calls(CallFilter(isLive: true)).count
            let open = try reader.pushes(PushFilter(isOpen: true)).count
            return live + open == 0 ? true : nil
        }
        await server.stop()
        #expect(try reader.audit().violations == [])
        #expect(try reader.callCount() == calls)
        for push in sent {
            let found = try reader.push(push.id)
            #expect(found?.status == .unknown && found?.sentAt == push.sentAt, "it is never sent again")
        }
    }

    @Test("restored into another folder ends its live calls, each with the reason of its passed deadline")
    func liveCalls() async throws {
        let now = Instant.now
        let past = now + .seconds(-3600)
        let ringing = CallRecord(
            id: .random(), caller: Party(user: "alice", device: .random()), callerName: nil, to: .user("bob"),
            video: false, inviteDigest: 1, state: .waking, createdAt: past, ringsUntil: past + .seconds(45))
        var connected = ringing
        (connected.id, connected.state) = (.random(), .connected)
        (connected.answeredAt, connected.connectedAt) = (past, past)
        let devices = (0..<2).map { _ in DeviceKey(user: "bob", device: .random()) }
        connected.answeredBy = Party(user: "bob", device: devices[1].device)
        connected.connectsUntil = past + .seconds(20)
        var legs = [
            LegRecord(call: ringing.id, device: devices[0], push: .random(), state: .waking, createdAt: past),
            LegRecord(call: connected.id, device: devices[1], push: .random(), state: .ringing, createdAt: past),
        ]
        legs[1].answeredAt = past
        let token = PushToken(
            provider: .apns, kind: .voip, environment: .production, topic: "org.reveille.phone.voip", token: "ab")
        var push = PushRecord(
            id: legs[0].push, call: ringing.id, device: devices[0], token: token, intendedAt: past,
            expiresAt: past + .seconds(45))
        (push.status, push.report, push.sentAt) = (.sent, .awaited, past)
        try await world.seed([.call(ringing), .call(connected), .leg(legs[0]), .leg(legs[1]), .push(push)])

        let file = world.folder + "-backup"
        let other = world.folder + "-other"
        atEnd { for path in [file, other] { try? FileManager.default.removeItem(atPath: path) } }
        let backup = try await world.output("backup \(file)")
        #expect(backup.contains("2, 2 of them live"))
        let restored = try await Program.reveille("restore", file, "--data", other)
        #expect(restored.ending == .exit(0), "\(restored.errors)")
        let server = try await world.startServer {
            $0.data = DataFolder(path: other)
            $0.timers.resume = .milliseconds(200)
            $0.timers.report = .milliseconds(200)
        }
        let reader = try StoreReader.open(folder: other)
        _ = try await eventually("both are over, and the push is settled") {
            let live = try reader.calls(CallFilter(isLive: true)).count
            return try reader.pushes(PushFilter(isOpen: true)).count + live == 0 ? true : nil
        }
        await server.stop()
        #expect(try reader.call(ringing.id)?.call.endReason == .ringTimeout)
        #expect(try reader.call(connected.id)?.call.endReason == .connectionLost)
        let unknown = try #require(try reader.push(push.id))
        #expect(unknown.status == .unknown && unknown.report == .unreported)
        #expect(try reader.audit().violations == [])
        // The restored store does not have these changes.
        #expect(try world.reader().calls(CallFilter(isLive: true)).count == 2)
    }

    @Test("replaces an older one and a stopped server's store, keeps the secrets, and describes its contents as JSON")
    func commands() async throws {
        // No other test gets the port while the server is stopped. The literal is a numeric address.
        let address = try SocketAddress(host: "127.0.0.1", port: freePort())!
        let server = try await world.startServer { $0.address = address }
        let (alice, bob, call) = try await world.liveCall(at: server.address)
        try await alice.hangUp(call, seenBy: bob)
        let file = world.folder + "-backup"
        atEnd { try? FileManager.default.removeItem(atPath: file) }

        let made = try await world.reveille("backup \(file) --output json")
        #expect(made.ending == .exit(0) && made.errors.isEmpty)
        let object = try #require(try JSONObject(made.output)["backup"] as? [String: Any])
        #expect(object["calls"] as? Int == 1 && object["devices"] as? Int == 2)
        #expect(object["balanced"] as? Bool == true && object["schema"] as? String == "v14")
        #expect(object["oldest_call_at"] as? [String: Any] != nil)

        try await world.output("backup \(file) --force")
        try await world.reveille("restore \(file) --replace").expectFailure(2, "Stop the server")
        await server.stop()
        let tokens = try Data(contentsOf: URL(fileURLWithPath: world.folder + "/client-token.key"))
        let restored = try #require(try await world.json("restore \(file) --replace")["restore"] as? [String: Any])
        let kept = try #require(restored["kept"] as? [String])
        #expect(kept.first?.contains("reveille-replaced-") == true && restored["replaced"] as? String == kept.first)
        #expect(try Data(contentsOf: URL(fileURLWithPath: world.folder + "/client-token.key")) == tokens)
        // Earlier tokens are valid with the restored secret.
        let mark = alice.events.count
        _ = try await world.startServer { $0.address = address }
        _ = try await alice.events.first("alice is back", from: mark) { $0.opened }
    }

    @Test("without enough space gives exit code 2 and a message, and leaves no file behind")
    func noRoom() async throws {
        let server = try await world.startServer()
        await server.stop()
        let target = world.folder + "-full"
        try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: true)
        atEnd { try? FileManager.default.removeItem(atPath: target) }
        // A limit of eight blocks of 512 bytes per file; exceeding it is an error, not a signal.
        let full = try await Program.run(
            "/bin/bash",
            [
                "-c", "trap '' XFSZ; ulimit -f 8; exec \"$0\" backup \"$1/backup\" --data \"$2\"",
                Program.reveille, target, world.folder,
            ])
        #expect(full.ending == .exit(2), "\(full.errors)")
        #expect(full.errorLines.count == 1 && full.output.isEmpty)
        #expect(try FileManager.default.contentsOfDirectory(atPath: target) == [])
    }
}

/// Set at most once.
private final class Flag: Sendable {
    private let value = Atomic<Bool>(false)

    var isSet: Bool { value.load(ordering: .relaxed) }
    func set() { value.store(true, ordering: .relaxed) }
}
