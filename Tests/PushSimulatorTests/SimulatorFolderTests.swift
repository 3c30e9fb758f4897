import EventLoop
import Foundation
import Logging
import PushSimulator
import Testing

@Suite("The simulator's data folder", .timeLimit(.minutes(5)))
struct SimulatorFolderTests {
    private func mode(_ path: String) throws -> Int {
        try #require(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
    }

    private func text(_ path: String) throws -> String {
        try String(contentsOfFile: path, encoding: .utf8)
    }

    private func run(_ folder: String, _ body: (PushSimulatorManifest) async throws -> Void) async throws {
        let configuration = PushSimulatorConfiguration(
            folder: folder, productionPort: 0, sandboxPort: 0, topic: "org.example.app",
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
        let simulator = try PushSimulator(configuration: configuration)
        let manifest = try await simulator.start()
        try await body(manifest)
        await simulator.stop()
    }

    @Test("secrets are for the owner alone, and the next start finds what the first one made")
    func restart() async throws {
        let parent = FileManager.default.temporaryDirectory.path + "/push-sim-\(UUID().uuidString)"
        let folder = parent + "/data"
        defer { try? FileManager.default.removeItem(atPath: parent) }
        var first: (PushSimulatorManifest, String, String)?
        try await run(folder) { manifest in
            #expect(try mode(folder) == 0o700)
            #expect(try mode(folder + "/ca-key.pem") == 0o600)
            #expect(try mode(folder + "/" + manifest.keyFile) == 0o600)
            #expect(manifest.keyFile == "AuthKey_\(manifest.keyID).p8")
            #expect(manifest.keyID.count == 10)
            #expect(manifest.teamID.count == 10)
            #expect(manifest.topic == "org.example.app")
            #expect(manifest.endpoint("production")?.port != manifest.endpoint("sandbox")?.port)
            #expect(try PushSimulatorManifest.load(folder: folder) == manifest)
            first = (
                manifest, try text(folder + "/ca.pem"),
                try text(folder + "/" + manifest.keyFile)
            )
        }
        let (manifest, authority, key) = try #require(first)
        try await run(folder) { again in
            #expect(again.keyID == manifest.keyID)
            #expect(again.teamID == manifest.teamID)
            let found = (try text(folder + "/ca.pem"), try text(folder + "/" + again.keyFile))
            #expect(found == (authority, key))
        }
    }

    @Test("a port in use, a host by name and a second start are refused in words")
    func refusals() async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/push-sim-\(UUID().uuidString)"
        defer {
            for made in [folder, folder + "-2"] { try? FileManager.default.removeItem(atPath: made) }
        }
        try await run(folder) { manifest in
            let port = try #require(manifest.endpoint("production")?.port)
            let second = try PushSimulator(
                configuration: PushSimulatorConfiguration(folder: folder, productionPort: 0, sandboxPort: 0))
            await #expect {
                try await second.start()
            } throws: { error in
                "\(error)".contains("another push simulator runs on this folder")
            }
            await second.stop()
            #expect(try PushSimulatorManifest.load(folder: folder) == manifest)
            let taken = try PushSimulator(
                configuration: PushSimulatorConfiguration(
                    folder: folder + "-2", productionPort: port, sandboxPort: 0))
            await #expect(throws: SystemError.self) { try await taken.start() }
            await #expect(throws: PushSimulator.StartError.self) { try await taken.start() }
            await taken.stop()
        }
        let named = try PushSimulator(configuration: PushSimulatorConfiguration(folder: folder, host: "example.org"))
        await #expect(throws: PushSimulator.StartError.self) { try await named.start() }
        #expect(await named.snapshot() == nil)
    }

    @Test("a folder without a manifest says which file is missing")
    func noManifest() {
        #expect {
            _ = try PushSimulatorManifest.load(folder: "/nonexistent")
        } throws: { error in
            "\(error)".contains("/nonexistent/push-sim.json")
        }
    }
}
