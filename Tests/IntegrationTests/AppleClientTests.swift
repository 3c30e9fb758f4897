import CallCore
import CallServer
import CallStore
import CallVocabulary
import Foundation
import PushSimulator
import SoftphoneKit
import SoftphoneSession
import Testing

/// The Swift package in `Resources/clients/apple`: what Linux can build of it runs; the rest is type-checked.
@Suite("The client for Apple's platforms", .world, .timeLimit(.minutes(20)))
struct AppleClientTests {
    /// Runs the package's example against a server.
    private func example(_ arguments: String...) async throws -> Program {
        try world.start(try await ApplePackage.products + "/example-phone", arguments)
    }

    @Test("reads pushes and CallKit's numbers as its own tests say")
    func unitTests() async throws {
        let tests = try await ApplePackage.products + "/reveille-applePackageTests.xctest"
        let result = try await Program.run(tests, ["--testing-library", "swift-testing"])
        #expect(result.ending == .exit(0), "\(result.output)\n\(result.errors)")
    }

    @Test("plays both sides of a call, resumes after a lost connection, and does not retry a bad token")
    func call() async throws {
        let server = try await world.startServer()
        let program = try await example(
            "ws://\(server.address)", "call", try await world.token("alice"), try await world.token("bob"))
        let result = try await program.result()
        #expect(result.ending == .exit(0), "\(result.errors)")
        #expect(try world.reader().calls().map(\.endReason) == [.hangup])
    }

    @Test("reports the push that woke it by HTTP, and answers with the push's wake token alone")
    func woken() async throws {
        // The server is a process of its own, as operators run it.
        let simulator = try await world.startSimulator()
        let (_, address) = try await world.serve("--push-sim")
        let handset = try await world.handset(on: simulator)
        let bob = try await world.awayPhone("bob", at: address, push: [handset.token])
        let alice = try await world.onlinePhone("alice", at: address)
        let call = try await alice.softphone.call(.user("bob"), sdp: .text("offer"))
        _ = try await handset.push(of: call)
        let program = try await example(
            "ws://\(address)", "woken", try #require(handset.payloads.entries.first),
            bob.softphone.configuration.session.device.id.description)
        _ = try await alice.state(.answered, of: call)
        try await alice.softphone.connected(call)
        _ = try await alice.state(.connected, of: call)
        #expect(try await alice.hangUp(call) == .hangup)
        #expect(try await program.ending() == .exit(0), "\(program.errors.entries)")
        try await world.push("is reported", of: call) { $0.report == .reported }
    }

    /// The declarations in `Tests/AppleStubs` stand for Apple's SDK, which Linux does not have.
    @Test("uses PushKit and CallKit as they are declared")
    func typeCheck() async throws {
        let modules = try await ApplePackage.products + "/Modules"
        let stubs = world.folder + "/stubs"
        try FileManager.default.createDirectory(atPath: stubs, withIntermediateDirectories: true)
        for name in ["PushKit", "UIKit", "AVFAudio", "CallKit"] {
            let result = try await ApplePackage.compile([
                "-emit-module", "-module-name", name, "-I", stubs, "-o", "\(stubs)/\(name).swiftmodule",
                "\(ApplePackage.stubs)/\(name).swift",
            ])
            #expect(result.ending == .exit(0), "\(result.errors)")
        }
        let glue = try await ApplePackage.compile(
            ["-typecheck", "-module-name", "ReveilleCallKit", "-I", stubs, "-I", modules]
                + ApplePackage.sources(of: ApplePackage.folder + "/Sources/ReveilleCallKit"))
        #expect(glue.ending == .exit(0), "\(glue.errors)")
    }
}
