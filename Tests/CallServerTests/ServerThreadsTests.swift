import EventLoop
import Foundation
import LibWebSockets
import TLS
import TestCleanup
import Testing
import WebSocketServer

@testable import CallServer
@testable import PushClient

@Suite("The threads of a listener", .cleanup, .timeLimit(.minutes(5))) struct ServerThreadsTests {
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

/// The test counts the threads of its process, and lowers its limit of descriptors.
@Suite("The threads of a failed start", .ownProcess, .cleanup, .timeLimit(.minutes(2))) struct FailedStartTests {
    @Test("end, whichever step lacks a file descriptor")
    func failedStarts() async throws {
        // The first timers of a process open descriptors, and would end it without them.
        try await ContinuousClock().sleep(for: .milliseconds(1))
        try await SuspendingClock().sleep(for: .milliseconds(1))
        var isStarted = false
        for spare in 0..<60 where !isStarted {
            let folder = try DataFolder.temporary()
            let configuration = ServerConfiguration(address: .anyPort, data: folder, shards: 1)
            let clock = ServerClock()
            let tokens = try await TokenAuthority(folder: folder, clock: clock)
            let store = try await ServerStore.open(configuration, log: .none)
            let before = try Self.threads()
            let limit = try DescriptorShortage(spare: spare)
            let parts = try? await ServerParts.start(configuration, clock, tokens, store, .none)
            limit.end()
            if let parts {
                #expect(spare > 0)
                isStarted = true
                await parts.stop()
                continue
            }
            // The kernel shows a thread for a moment after its end.
            let deadline = ContinuousClock.now + .seconds(5)
            while try Self.threads() != before, ContinuousClock.now < deadline { await Task.yield() }
            #expect(try Self.threads() == before, "\(spare) descriptors")
            await store.close()
        }
        #expect(isStarted)
    }

    /// The names of the threads that a server starts, with the number of each.
    private static func threads() throws -> [String: Int] {
        let folder = "/proc/self/task"
        return try FileManager.default.contentsOfDirectory(atPath: folder).reduce(into: [:]) { names, thread in
            // It may have ended since.
            let name = try? String(contentsOfFile: "\(folder)/\(thread)/comm", encoding: .utf8)
            if let name, ["core\n", "webhooks\n"].contains(name) { names[name, default: 0] += 1 }
        }
    }

    /// Lets the process open no more than `spare` further descriptors, until its end.
    private struct DescriptorShortage {
        private let former: rlimit

        init(spare: Int) throws {
            var former = rlimit()
            try #require(getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &former) == 0)
            self.former = former
            var (limit, left) = (Int32(0), spare)
            while left > 0 || fcntl(limit, F_GETFD) != -1 {
                if fcntl(limit, F_GETFD) == -1 { left -= 1 }
                limit += 1
            }
            var short = former
            short.rlim_cur = rlim_t(limit)
            #expect(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &short) == 0)
        }

        func end() {
            var former = former
            #expect(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &former) == 0)
        }
    }
}
