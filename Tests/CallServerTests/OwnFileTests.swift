import CallVocabulary
import EventLoop
import Foundation
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
