import CallCore
import CallStore
import CallVocabulary
import EventLoop
import Foundation
import Glibc
import LogCapture
import OutgoingHTTP
import TLS
import TestCleanup
import Testing

@testable import CallServer

/// `webhooks.json` is in `WebhookServiceTests`.
@Suite("A damaged file of the server's own is named, with what to do, and never ends it", .cleanup)
struct OwnFileTests {
    @Test(
        "clock.json",
        arguments: [
            "", "{}", #"{"boot":"b","origin":9223372036854775807,"offset":0}"#,
            #"{"boot":"b","origin":0,"offset":-9223372036854775808}"#, #"{"boot":"b","origin":1e300,"offset":0}"#,
        ])
    func clock(_ text: String) throws {
        let folder = try DataFolder.temporary()
        let path = folder.path + "/clock.json"
        var said: [String] = []
        let none = ClockAnchor(in: folder) { said.append($0) }
        #expect(none == nil && said == [], "no file is no damage")
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        let anchor = ClockAnchor(in: folder) { said.append($0) }
        #expect(anchor == nil && said.count == 1 && said.first?.hasPrefix("\(path) is damaged") == true)
    }

    /// Puts what is no file at a path: a folder, a named pipe, links that lead to themselves or nowhere, and a file larger
    /// than the memory.
    private static let strange: [@Sendable (String) -> Bool] = [
        { mkdir($0, 0o700) == 0 }, { mkfifo($0, 0o600) == 0 }, { symlink($0, $0) == 0 },
        { symlink($0 + ".none", $0) == 0 },
        { FileManager.default.createFile(atPath: $0, contents: nil) && truncate($0, 1 << 40) == 0 },
    ]

    @Test("What cannot be read is not taken for nothing", arguments: strange.indices)
    func unreadable(_ kind: Int) throws {
        let folder = try DataFolder.temporary()
        func place(_ file: String) -> String {
            let path = folder.path + "/" + file
            #expect(Self.strange[kind](path))
            return path
        }
        var said: [String] = []
        let clock = place("clock.json")
        #expect(ClockAnchor(in: folder) { said.append($0) } == nil)
        #expect(said.count == 1 && said.first?.hasPrefix("\(clock) is damaged") == true)
        let attempts: [(String, () throws -> Void)] = [
            (place("webhooks.json"), { _ = try folder.deliveries() }),
            (place("client-token.key"), { _ = try folder.secret("client-token.key") }),
            (place("webpush.key"), { _ = try folder.webPushKey() }),
            (place("webpush.pub"), { _ = try folder.noteApplicationServerKey("key") }),
        ]
        for (path, attempt) in attempts {
            let failure = #expect(throws: DataFolder.Failure.self) { try attempt() }
            #expect(failure?.description.hasPrefix("\(path) cannot be read (") == true, "\(failure!)")
            #expect(failure?.description.contains("make it a file that this user can read") == true)
        }
    }

    @Test("a secret that is missing beside a store with users is told of, unless it is elsewhere")
    func secrets() async throws {
        let folder = try DataFolder.temporary()
        func told(secretFile: String? = nil) async throws -> [String] {
            let lines = LogLines()
            var configuration = ServerConfiguration(address: .anyPort, data: folder, shards: 1)
            configuration.tokens.secretFile = secretFile
            let server = try await CallServer.start(configuration, log: lines.logger())
            await server.stop()
            return lines.take().filter { $0.hasPrefix("error a secret was missing") }
        }
        func remove(_ file: String) throws { try FileManager.default.removeItem(atPath: folder.path + "/" + file) }
        let (ofUsers, ofPushes) = ("client-token.key", "wake-token.key")
        #expect(try await told() == [], "it makes them")
        for file in [ofUsers, ofPushes] { try remove(file) }
        #expect(try await told() == [], "it has no users")
        let store = try CallStore.open(folder: folder.path)
        let device = DeviceRecord(
            key: DeviceKey(user: Handle("bob")!, device: DeviceID(high: 1, low: 1)), platform: .ios, app: nil,
            name: nil, tokens: [], seenAt: Instant(milliseconds: 1), unreportedStreak: 0, suspendedAt: nil)
        try store.commit([.device(device)])
        store.close()
        #expect(try await told() == [])
        for file in [ofUsers, ofPushes] { try remove(file) }
        let lines = try await told()
        #expect(lines.count == 2 && lines.allSatisfy { $0.contains("put it back from a backup, and restart") })
        #expect(lines.first?.hasSuffix("file=\(folder.path)/\(ofUsers)") == true)
        #expect(lines.last?.hasSuffix("file=\(folder.path)/\(ofPushes)") == true)
        #expect(try await told() == [])
        let elsewhere = folder.path + "/elsewhere.key"
        try FileManager.default.moveItem(atPath: folder.path + "/" + ofUsers, toPath: elsewhere)
        #expect(try await told(secretFile: elsewhere) == [])
    }

    private struct Kept: Encodable {
        var url = "https://127.0.0.1:1/keys"
        var end: Int64
        // Of RFC 7517, appendix A.1.
        var keySet = """
            {"keys":[{"kty":"EC","crv":"P-256","kid":"1","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4",
            "y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}]}
            """
    }

    @Test("token-keys.json")
    func keys() async throws {
        let folder = try DataFolder.temporary()
        let path = folder.path + "/token-keys.json"
        let address = try #require(WebAddress("https://127.0.0.1:1/keys"))
        let soon = ServerClock().wallTime().milliseconds + 60_000
        let cases = [
            (Kept(end: soon), false), (Kept(url: "https://127.0.0.1:2/keys", end: soon), false),
            (Kept(end: 1 << 52), false), (Kept(end: .max), true), (Kept(end: .min), true),
            (Kept(end: soon, keySet: "{}"), true),
        ]
        var texts = try cases.map { (try JSONEncoder().encode($0.0), $0.1) }
        texts.append((Data("no JSON".utf8), true))
        let loop = try EventLoop.started("keys")
        let tls = try TLSClientContext.webClient.get()
        for (text, isDamaged) in texts {
            try text.write(to: URL(fileURLWithPath: path))
            let lines = LogLines()
            let environment = RemoteKeySet.Environment(
                address: address, folder: folder, clock: ServerClock(), counters: TokenCounters(), log: lines.logger(),
                onKeys: { _, _ in })
            _ = await loop.run { RemoteKeySet(environment, loop: loop, tls: tls).stop() }
            let isSaid = lines.take().contains { $0.contains("\(path) is damaged") }
            #expect(isSaid == isDamaged, "\(String(decoding: text, as: UTF8.self))")
        }
    }
}
