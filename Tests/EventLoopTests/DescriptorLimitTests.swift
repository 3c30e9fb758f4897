import EventJournal
import EventLoop
import Glibc
import TestCleanup
import Testing

@Suite("The limit of descriptors", .ownProcess)
struct DescriptorLimitTests {
    private struct Failure: Error {}

    private func softLimit() -> Int {
        var limits = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
        return Int(clamping: limits.rlim_cur)
    }

    @Test("it is lowered for as long as something runs, however that ends")
    func lowered() throws {
        let before = DescriptorLimit.current
        try #require(before > 300)
        #expect(DescriptorLimit.lowered(to: 300) { [$0, softLimit()] } == [300, 300])
        #expect(softLimit() == before)
        #expect(throws: Failure.self) { try DescriptorLimit.lowered(to: 300) { _ in throw Failure() } }
        #expect(softLimit() == before)
    }

    @Test("it is not raised by that")
    func notRaised() {
        let before = DescriptorLimit.current
        #expect(DescriptorLimit.lowered(to: before + 1) { [$0, softLimit()] } == [before, before])
        #expect(softLimit() == before)
    }

    @Test("it is set to what is needed, and to no more than the process may have")
    func set() throws {
        let before = DescriptorLimit.current
        try #require(before > 500)
        var hard = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &hard)
        #expect(DescriptorLimit.set(to: 400) == 400)
        #expect(softLimit() == 400)
        #expect(DescriptorLimit.provide(300) == 400)
        #expect(DescriptorLimit.provide(401) == 401)
        #expect(DescriptorLimit.raise() == Int(clamping: hard.rlim_max))
        #expect(DescriptorLimit.set(to: before) == before)
    }

    /// What lives on the loop.
    private final class Scene {
        var acceptor: SocketAcceptor?
        var connection: TCPConnection?
        var hasRoom = false
    }

    private enum Event: Sendable { case exhausted, accepted }

    @Test("an acceptor tells at once that none is left, and accepts when there is one again")
    func exhaustion() async throws {
        let before = DescriptorLimit.current
        let loop = try EventLoop(name: "descriptors")
        loop.start()
        let (scene, journal) = (LoopBound(Scene(), on: loop), Journal<Event>())
        let started = await loop.run {
            Result {
                let acceptor = try SocketAcceptor(
                    // Numeric, so never nil.
                    loop: loop, address: SocketAddress(host: "127.0.0.1", port: 0)!,
                    hasRoom: { scene.value.hasRoom }, onExhaustion: { journal.append(.exhausted) },
                    onAccept: { descriptor in
                        journal.append(.accepted)
                        close(descriptor)
                    })
                scene.value.acceptor = acceptor
                scene.value.connection = TCPConnection.connect(loop: loop, to: acceptor.address) { event in
                    guard case .connected = event else { return }
                    DescriptorLimit.set(to: 3)
                    scene.value.hasRoom = true
                }
            }
        }
        try started?.get()
        try await journal.wait(for: "two pauses") { $0.count >= 2 }
        #expect(journal.entries.allSatisfy { $0 == .exhausted })
        DescriptorLimit.set(to: before)
        try await journal.wait(for: "the connection") { $0.last == .accepted }
        _ = await loop.run {
            scene.value.connection?.close()
            scene.value.connection = nil
            scene.value.acceptor = nil
        }
        await loop.stopAndWait()
    }
}
