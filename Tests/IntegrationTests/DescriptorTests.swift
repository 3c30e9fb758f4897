import CallServer
import CallStore
import CallVocabulary
import Foundation
import SoftphoneKit
import SoftphoneSession
import TestCleanup
import Testing

@Suite("Descriptors that servers leave open in their process", .ownProcess, .world, .timeLimit(.minutes(2)))
struct DescriptorTests {
    /// The open descriptors of this process, with their targets.
    private func descriptors() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { number in
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + number)
            return target.map { "\(number) \($0)" }
        }
    }

    /// Starts a server, makes one call that is answered and ended, and stops the server.
    private func serve() async throws {
        let server = try await world.startServer()
        let alice = try await world.onlinePhone("alice", at: server.address)
        let bob = try await world.onlinePhone("bob", at: server.address)
        let call = try await alice.softphone.call(.user("bob"))
        #expect(try await bob.incoming().id == call)
        try await bob.softphone.answer(call)
        try await bob.hangUp(call, seenBy: alice)
        for phone in [alice, bob] { await phone.softphone.disconnect() }
        await server.stop()
    }

    @Test("after five starts and stops on one folder, none of its files and no new descriptor is open")
    func stops() async throws {
        // Opens the descriptors that a process opens only once, such as the system's source of random numbers.
        try await serve()
        let before = try descriptors()
        for _ in 0..<5 { try await serve() }
        // Another thread closes the phones' sockets.
        _ = try? await eventually("the sockets are closed") { try descriptors().count == before.count ? true : nil }
        let after = try descriptors()
        #expect(after.filter { $0.contains(world.folder) }.isEmpty)
        #expect(after.count == before.count, "\(after.filter { !before.contains($0) })")
        #expect(try world.reader().calls().count == 6)
    }
}
