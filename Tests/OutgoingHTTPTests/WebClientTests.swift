import EventJournal
import EventLoop
import Foundation
import TLS
import TestCertificates
import TestCleanup
import Testing

@testable import OutgoingHTTP

/// The client with Python's HTTP server.
@Suite("A client of other servers", .cleanup, .timeLimit(.minutes(2)))
struct WebClientTests {
    @Test("sends the method, the header fields and the body, and returns the answer")
    func exchange() async throws {
        let (server, client) = (try await WebServer(), try await LoopClient())
        let posted = try await client.send(
            WebRequest(
                .post, server.address("echo?a=b%20c"), fields: [("Content-Type", "application/json"), ("X-Id", "7")],
                body: Array("{\"ü\":1}".utf8), patience: .seconds(20), longestAnswer: 10_000, isRepeatable: true)
        ).get()
        let object = try #require(try JSONSerialization.jsonObject(with: Data(posted.body)) as? [String: Any])
        #expect(object["method"] as? String == "POST" && object["path"] as? String == "/echo?a=b%20c")
        #expect(object["body"] as? String == "{\"ü\":1}")
        let fields = try #require(object["fields"] as? [String: String])
        #expect(
            fields == [
                "host": "localhost:\(server.port)", "accept": "application/json, */*;q=0.1",
                "accept-encoding": "identity", "user-agent": "test/1", "content-length": "8",
                "content-type": "application/json", "x-id": "7",
            ])
        let busy = try await client.get(server.address("busy")).get()
        #expect(busy.status == 429 && busy.field("retry-after") == "7" && busy.field("cache-control") == "no-store")
    }

    @Test("keeps the connection whatever the status and the end of the body, and counts with the peer's limits")
    func keptConnections() async throws {
        let (server, client) = (try await WebServer(), try await LoopClient())
        var texts: [String] = []
        // The first five keep their connection; the others end it in one way each.
        let paths = ["busy", "chunked", "moved", "busy", "last", "old", "brief", "more", "busy"]
        for path in paths { texts.append(try await client.get(server.address(path)).text) }
        let long = String(repeating: "x", count: 3000)
        #expect(
            texts == [
                "429 later", "200 one two \(long)", "302 ", "429 later", "200 last", "200 until the end", "200 brief",
                "200 more", "429 later",
            ])
        #expect(
            try await server.requests(9) == [
                "1 GET /busy", "1 GET /chunked", "1 GET /moved", "1 GET /busy", "1 GET /last", "2 GET /old",
                "3 GET /brief", "4 GET /more", "5 GET /busy",
            ])
    }

    @Test("goes on whatever number a peer announces for its connections")
    func announcedTimes() async throws {
        let (server, client) = (try await WebServer(), try await LoopClient())
        for number in [
            "-9223372036854775808", "9223372036854775807", "18446744073709551615", "99999999999999999999", "1e400",
            "-1", "+5", "%205", "5%205", "", "0", "5",
        ] {
            #expect(try await client.get(server.address("kept?\(number)")).text == "200 kept", "\(number)")
        }
        #expect(try await client.get(server.address("busy")).text == "429 later")
    }

    @Test("sends a request again if a kept connection ends without an answer, once, and only if it is repeatable")
    func repeated() async throws {
        let (server, client) = (try await WebServer(), try await LoopClient())
        #expect(try await client.get(server.address("once")).text == "200 once")
        #expect(try await client.get(server.address("once")).text == "200 once")
        #expect(
            try await client.get(server.address("once"), isRepeatable: false).text
                == "the connection was closed without a response")
        // The connection was new: it is not sent again.
        #expect(try await client.get(server.address("half")).text == "the connection was closed within the response")
        #expect(
            try await server.requests(5)
                == ["1 GET /once", "1 GET /once", "2 GET /once", "2 GET /once", "3 GET /half"])
        // Part of an answer: the peer has seen the request.
        #expect(try await client.get(server.address("busy")).text == "429 later")
        #expect(try await client.get(server.address("half")).text == "the connection was closed within the response")
        #expect(try await server.requests(7).suffix(2) == ["4 GET /busy", "4 GET /half"])
    }

    @Test("gives up a peer that is silent, stops, sends too much or no HTTP")
    func badPeers() async throws {
        let (server, client) = (try await WebServer(), try await LoopClient())
        for (path, patience, text) in [
            ("silent", Duration.milliseconds(100), "no response within 100 ms"),
            ("slow", .milliseconds(150), "no response within 150 ms"),
            ("long", .seconds(20), "the response is longer than 100000 bytes"),
            ("garbage", .seconds(20), "the response is not HTTP/1.1"),
        ] {
            let result = try await client.get(server.address(path), patience: patience)
            #expect(result == .failure(WebFailure(description: text, isUnsent: false)))
        }
        // Nothing of them is kept.
        #expect(try await client.get(server.address("busy")).text == "429 later")
        // The server's output arrives on its own.
        try await server.lines.wait(for: "the last request") { $0.last == "5 GET /busy" }
    }

    @Test("reports a name that is unknown and a port that nothing listens on")
    func unreachable() async throws {
        let client = try await LoopClient()
        let unknown = try #require(WebAddress("https://no.such.name.invalid/"))
        #expect(try await client.get(unknown).text.contains("look up no.such.name.invalid"))
        let port = try freePort()
        let refused = try #require(WebAddress("http://127.0.0.1:\(port)/"))
        #expect(try await client.get(refused).text.contains("refused"))
        for address in [unknown, refused] {
            guard case .failure(let failure) = try await client.get(address) else {
                Issue.record("nobody answers there")
                return
            }
            #expect(failure.isUnsent, "\(failure)")
        }
    }

    @Test("speaks TLS with a server whose certificate it trusts and that has the name, on one connection")
    func secure() async throws {
        let (identity, other) = (try await TestIdentity(), try await TestIdentity())
        let server = try await WebServer(identity)
        let client = try await LoopClient(trust: .certificateAuthority(file: identity.path("certificate.pem")))
        for path in ["busy", "chunked", "once", "once", "last"] {
            #expect(try await client.get(server.address(path)).get().status >= 200)
        }
        #expect(
            try await server.requests(7) == [
                "1 GET /busy", "1 GET /chunked", "1 GET /once", "2 GET /once", "2 GET /once", "3 GET /once",
                "3 GET /last",
            ])
        #expect(try await client.get(server.address("busy", host: "127.0.0.1")).text.contains("not accepted"))
        let stranger = try await LoopClient(trust: .certificateAuthority(file: other.path("certificate.pem")))
        #expect(try await stranger.get(server.address("busy")).text.contains("not accepted"))
        let plain = try await WebServer()
        let wrong = try #require(WebAddress("https://localhost:\(plain.port)/busy"))
        #expect(try await client.get(wrong).text.contains("TLS"))
    }

    @Test("keeps at most eight idle connections to an origin, the newest")
    func bounded() async throws {
        let (server, client) = (try await WebServer(), try await LoopClient())
        let address = server.address("busy")
        let journal = Journal<String>()
        for round in 1...2 {
            _ = await client.loop.run { [client = client.client] in
                for _ in 0..<11 {
                    client.value.send(
                        WebRequest(.get, address, patience: .seconds(20), longestAnswer: 100, isRepeatable: true)
                    ) { journal.append($0.text) }
                }
            }
            try await journal.wait(for: "eleven more") { $0.count == 11 * round }
        }
        #expect(Set(journal.entries) == ["429 later"])
        let connections = try await server.requests(22).map { $0.prefix { $0 != " " } }
        #expect(Set(connections.prefix(11)).count == 11 && Set(connections).count == 14, "\(connections)")
    }

    @Test("takes any number of seconds in Keep-Alive")
    func oddTimeouts() async throws {
        let (server, client) = (try await WebServer(), try await LoopClient())
        for seconds in [Int.min, -1, 0, 1, Int.max] {
            #expect(try await client.get(server.address("kept?\(seconds)")).text == "200 kept")
        }
    }

    /// In their look-up, and behind it.
    private static func begin(_ client: WebClient, _ server: WebServer, _ journal: Journal<String>) {
        for address in [server.address("silent"), server.address("silent", host: "127.0.0.1")] {
            client.send(WebRequest(.get, address, patience: .seconds(60), longestAnswer: 100, isRepeatable: true)) {
                journal.append($0.text)
            }
        }
    }

    @Test("that is closed cancels its exchanges, wherever they are; without it they end with their loop")
    func closed() async throws {
        let server = try await WebServer()
        let journal = Journal<String>()
        for closes in [true, false] {
            let loop = try EventLoop(name: "web client")
            loop.start()
            let tls = try TLSClientContext(trust: .system, speaking: .http1)
            _ = await loop.run {
                let client = WebClient(loop: loop, tls: tls, userAgent: "test/1")
                Self.begin(client, server, journal)
                if closes { client.close() }
            }
            await loop.stopAndWait()
        }
        #expect(journal.entries == [])
    }

    @Test("that is closed keeps no connection; an exchange that is canceled does not call back")
    func ended() async throws {
        let (server, client) = (try await WebServer(), try await LoopClient())
        let (silent, busy) = (server.address("silent"), server.address("busy"))
        let journal = Journal<String>()
        _ = await client.loop.run { [client = client.client] in
            client.value.send(
                WebRequest(.get, silent, patience: .milliseconds(50), longestAnswer: 100, isRepeatable: true)
            ) { journal.append("canceled: " + $0.text) }.cancel()
            client.value.close()
        }
        #expect(try await client.get(busy).text == "429 later")
        #expect(try await client.get(busy).text == "429 later")
        #expect(try await client.get(silent, patience: .milliseconds(100)).text.contains("no response"))
        let requests = try await server.requests(3)
        #expect(requests.filter { $0.hasSuffix("busy") }.count == 2)
        #expect(Set(requests.map { $0.prefix { $0 != " " } }).count == requests.count)
        #expect(journal.entries == [])
    }
}
