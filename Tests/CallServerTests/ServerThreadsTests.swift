import EventLoop
import LibWebSockets
import TLS
import Testing
import WebSocketServer

@testable import CallServer
@testable import PushClient

@Suite("The threads of a listener", .timeLimit(.minutes(1))) struct ServerThreadsTests {
    private final class Nobody: ShardHandler {
        func connectionOpened(_: WebSocketConnection) {}
        func received(_: UnsafeRawBufferPointer, on _: WebSocketConnection) {}
        func batchEnded() {}
        func connectionClosed(_: WebSocketConnection) {}
        func requested(_: HTTPRequest, _: HTTPResponder) {}
    }

    @Test("are the core's for one shard without TLS, otherwise their own")
    func arrangement() async throws {
        let folder = try TemporaryDataFolder()
        let harness = try await ServerHarness(folder)
        let core = harness.parts.core.loop
        // Force-unwrap: the literal is a numeric address.
        var configuration = ServerConfiguration(
            address: SocketAddress(host: "127.0.0.1", port: 0)!, data: folder.data, shards: 1)
        #expect(try harness.parts.listener(configuration) { _, _ in Nobody() }.shardLoops.map { $0 === core } == [true])
        configuration.shards = 2
        #expect(
            try harness.parts.listener(configuration) { _, _ in Nobody() }.shardLoops.map { $0 === core }
                == [false, false])
        configuration.shards = 1
        configuration.tls = TLSFiles(certificateFile: "c.pem", keyFile: "k.pem")
        #expect(
            try harness.parts.listener(configuration) { _, _ in Nobody() }.shardLoops.map { $0 === core } == [false])
        await harness.stop()
    }

    @Test("the push client uses the core's loop for one shard, otherwise its own")
    func push() async throws {
        for shards in 1...2 {
            let folder = try TemporaryDataFolder()
            let harness = try await ServerHarness(folder)
            // Force-unwrap: the literal is a numeric address.
            let address = SocketAddress(host: "127.0.0.1", port: 0)!
            let parts = harness.parts
            try parts.startPush(ServerConfiguration(address: address, data: folder.data, shards: shards))
            #expect((parts.push.loop === parts.core.loop) == (shards == 1))
            #expect(parts.push.loop != nil)
            await harness.stop()
        }
    }
}
