import CallCore
import CallServer
import CallStore
import CallVocabulary
import EventLoop
import Foundation
import PushSimulator
import PushVocabulary
import SoftphoneKit
import SoftphoneSession
import StoreInterface
import Testing

@Suite("Failures of the environment", .world)
struct EnvironmentTests {
    @Test("with the push service down the call waits for it, ends with ring_timeout, and its push is never sent")
    func pushServiceDown() async throws {
        let (simulator, server) = try await world.startPushing { $0.timers.ring = .milliseconds(500) }
        _ = try await world.sleepingPhone("bob", at: server.address)
        await simulator.stop()
        let alice = try await world.onlinePhone("alice", at: server.address)
        let call = try await alice.softphone.call(.user("bob"))
        _ = try await alice.state(.waking, of: call)
        #expect(try await alice.ended(call).reason == .ringTimeout)
        let push = try #require(try world.reader().pushes().first)
        #expect(push.status == .expired)
        #expect(push.sentAt == nil)

        // The server still works.
        let carol = try await world.phone("carol", at: server.address)
        let dave = try await world.phone("dave", at: server.address)
        let other = try await carol.connects(to: dave)
        #expect(try await carol.hangUp(other, seenBy: dave) == .hangup)
    }

    @Test("a push service that recovers within the ring time gets the waiting push")
    func pushServiceBack() async throws {
        let simulator = try await world.startSimulator()
        let manifest = try PushSimulatorManifest.load(folder: world.simulatorFolder)
        let server = try await world.startServer()
        _ = try await world.sleepingPhone("bob", at: server.address)
        await simulator.stop()
        let alice = try await world.onlinePhone("alice", at: server.address)
        let call = try await alice.softphone.call(.user("bob"))
        _ = try await alice.state(.waking, of: call)
        #expect(try world.reader().pushes().map(\.status) == [.intended])

        let again = try await world.startSimulator {
            $0.productionPort = manifest.endpoint("production")?.port ?? 0
            $0.acceptsUnknownTokens = true
        }
        let push = try await world.push("is accepted") { $0.status == .accepted }
        #expect(push.call == call)
        #expect(await again.snapshot()?.counts.received == 1)
        #expect(try await alice.hangUp(call) == .cancelled)
    }

    @Test("a token that the push service calls unregistered ends the call at once with no_devices")
    func deadToken() async throws {
        let (simulator, server) = try await world.startPushing()
        let bob = try await world.sleepingPhone("bob", at: server.address)
        // A token registered in the millisecond of its removal counts as registered again.
        let token = try #require(try world.reader().devices(user: "bob").flatMap(\.tokens).first)
        _ = try await eventually("a millisecond has passed") { Instant.now > token.registeredAt ? true : nil }
        await simulator.removeApp(fromPhone: bob.token)
        let alice = try await world.onlinePhone("alice", at: server.address)
        let call = try await alice.softphone.call(.user("bob"))
        #expect(try await alice.ended(call).reason == .noDevices)
        let push = try #require(try world.reader().pushes().first)
        #expect(push.status == .rejected)
        #expect(push.reason == "Unregistered")
        #expect(try world.reader().devices(user: "bob").flatMap(\.tokens) == [])
    }

    @Test("a data folder that is a file stops serve")
    func folderIsAFile() async throws {
        try Data().write(to: URL(fileURLWithPath: world.folder))
        try await serveInVain(
            "--data", world.folder,
            says: #""level":"critical""#, "\(world.folder) is a file; name a folder with --data")
    }

    @Test("a data folder that cannot be created stops serve")
    func folderCannotBeWritten() async throws {
        try await serveInVain(
            "--data", "/proc/reveille",
            says: "the data folder /proc/reveille cannot be written", "name another with --data")
    }

    @Test("a port that is taken stops serve")
    func portTaken() async throws {
        let server = try await world.startServer()
        try await serveInVain(
            "--data", world.folder + "/other", "--port", "\(server.address.port)",
            says: "\(server.address)", "choose another port")
    }

    @Test("a second server on the same data folder stops and names the first")
    func folderTaken() async throws {
        _ = try await world.startServer()
        try await serveInVain("--data", world.folder, says: "process id \(ProcessInfo.processInfo.processIdentifier)")
    }

    @Test("a new data folder and its secrets are accessible to their owner only")
    func permissions() async throws {
        _ = try await world.startServer()
        for (name, mode) in [("", 0o700), ("/client-token.key", 0o600), ("/wake-token.key", 0o600)] {
            let attributes = try FileManager.default.attributesOfItem(atPath: world.folder + name)
            #expect(attributes[.posixPermissions] as? Int == mode, "\(name)")
        }
    }

    /// A server that does not start: exit code 2, and one line with advice.
    private func serveInVain(_ arguments: String..., says words: String...) async throws {
        let result = try await Program.run(
            Program.reveille,
            ["serve", "--log-level", "error"] + (arguments.contains("--port") ? [] : ["--port", "0"]) + arguments)
        #expect(result.ending == .exit(2))
        #expect(result.errorLines.count == 1)
        for word in words { #expect(result.errors.contains(word), "\(result.errors)") }
    }
}
