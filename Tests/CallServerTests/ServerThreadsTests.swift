import EventLoop
import LibWebSockets
import TLS
import TestCleanup
import Testing
import WebSocketServer

@testable import CallServer
@testable import PushClient

@Suite("The threads of a listener", .cleanup, .timeLimit(.minutes(1))) struct ServerThreadsTests {
    private final class Nobody: ShardHandler {
        func connectionOpened(_: WebSocketConnection) {}
        func received(_: UnsafeRawBufferPointer, on _: WebSocketConnection) {}
        func batchEnded() {}
        func connectionClosed(_: WebSocketConnection) {}
        func requested(_: HTTPRequest, _: HTTPResponder) {}
    }

    @Test("are the core's for one shard without TLS, otherwise their own")
    func arrangement() async throws {
        let harness = try await ServerHarness()
        let core = harness.parts.core.loop
        var configuration = ServerConfiguration(address: .anyPort, data: harness.folder, shards: 1)
        #expect(try harness.parts.listener(configuration) { _, _ in Nobody() }.shardLoops.map { $0 === core } == [true])
        configuration.shards = 2
        #expect(
            try harness.parts.listener(configuration) { _, _ in Nobody() }.shardLoops.map { $0 === core }
                == [false, false])
        configuration.shards = 1
        configuration.tls = TLSFiles(certificateFile: "c.pem", keyFile: "k.pem")
        #expect(
            try harness.parts.listener(configuration) { _, _ in Nobody() }.shardLoops.map { $0 === core } == [false])
    }

    @Test("the push client uses the core's loop for one shard, otherwise its own")
    func push() async throws {
        for shards in 1...2 {
            let harness = try await ServerHarness()
            let parts = harness.parts
            try parts.startPush(ServerConfiguration(address: .anyPort, data: harness.folder, shards: shards))
            #expect((parts.push.loop === parts.core.loop) == (shards == 1))
            #expect(parts.push.loop != nil)
        }
    }
}
