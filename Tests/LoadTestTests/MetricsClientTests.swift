import EventLoop
import Synchronization
import Testing

@testable import LoadTest

@Suite("The question for a server's metrics", .timeLimit(.minutes(5))) struct MetricsClientTests {
    private typealias Found = (Result<[SocketAddress], SystemError>) -> Void

    @Test("is given up when the look-up of the name takes too long, and an address that comes after that is not used")
    func slowLookup() async throws {
        let waiting = Mutex<LoopBound<Found>?>(nil)
        let client = try MetricsClient(
            url: "http://example:1/metrics", server: "ws://example:1", patience: .milliseconds(50)
        ) { loop, _, _, found in
            waiting.withLock { $0 = LoopBound(found, on: loop) }
        }
        #expect(await client.get() == nil)
        let found = try #require(waiting.withLock { $0 })
        let isTaken = await found.loop.run { found.value(.success([])) } != nil
        #expect(isTaken)
    }
}
