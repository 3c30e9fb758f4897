import ChildProcess
import EventJournal
import EventLoop
import Foundation
import OutgoingHTTP
import Synchronization
import TLS
import TestCertificates
import TestCleanup

/// `Scripts/web_server.py`, until the end of the test.
struct WebServer {
    let lines = Journal<String>()
    private let scheme: String
    let port: String

    init(_ identity: TestIdentity? = nil) async throws {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        let files = identity.map { [$0.path("certificate.pem"), $0.path("key.pem")] } ?? []
        let rest = Mutex<[UInt8]>([])
        let child = try ChildProcess.start(
            "/usr/bin/python3", [folder.appending(path: "Scripts/web_server.py").path] + files,
            output: .pipe { [lines] part in
                rest.withLock { rest in
                    rest += part
                    while let end = rest.firstIndex(of: 10) {
                        lines.append(String(decoding: rest[..<end], as: UTF8.self))
                        rest.removeFirst(end + 1)
                    }
                }
            }, errors: .apart(.nowhere))
        atEnd { await child.stop(atMost: .seconds(5)) }
        scheme = identity == nil ? "http" : "https"
        port = try await lines.first("the port") { $0 }
    }

    /// "CONNECTION METHOD PATH" for each request, once that many have come: the server's output arrives on its own.
    func requests(_ count: Int) async throws -> [String] {
        try await lines.wait(for: "\(count) requests") { $0.count > count }
        return Array(lines.entries.dropFirst())
    }

    func address(_ path: String, host: String = "localhost") -> WebAddress {
        WebAddress("\(scheme)://\(host):\(port)/\(path)")!  // Of this machine.
    }
}

/// A client on a loop of its own, until the end of the test.
struct LoopClient {
    let loop: EventLoop
    let client: LoopBound<WebClient>

    init(trust: TLSClientContext.Trust = .system) async throws {
        let loop = try EventLoop(name: "web client")
        loop.start()
        self.loop = loop
        let tls = try TLSClientContext(trust: trust, speaking: .http1)
        client = await loop.run { LoopBound(WebClient(loop: loop, tls: tls, userAgent: "test/1"), on: loop) }!
        atEnd { [client] in
            _ = await loop.run { client.value.close() }
            await loop.stopAndWait()
        }
    }

    func send(_ request: WebRequest) async throws -> Result<WebAnswer, WebFailure> {
        let journal = Journal<Result<WebAnswer, WebFailure>>()
        _ = await loop.run { [client] in _ = client.value.send(request) { journal.append($0) } }
        return try await journal.first("a result") { $0 }
    }

    func get(_ address: WebAddress, patience: Duration = .seconds(20), isRepeatable: Bool = true) async throws
        -> Result<WebAnswer, WebFailure>
    {
        try await send(
            WebRequest(.get, address, patience: patience, longestAnswer: 100_000, isRepeatable: isRepeatable))
    }
}

extension Result<WebAnswer, WebFailure> {
    /// "STATUS BODY", or the failure.
    var text: String {
        switch self {
        case .success(let answer): "\(answer.status) \(String(decoding: answer.body, as: UTF8.self))"
        case .failure(let failure): failure.description
        }
    }
}
