import CallVocabulary
import Foundation
import ReveilleClient
import SoftphoneSession
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Answers requests as a test says, in place of the network.
final class ScriptedServer: URLProtocol {
    typealias Answer = (status: Int, body: String)

    private static let lock = NSLock()
    // Proof: guarded by `lock`.
    nonisolated(unsafe) private static var answers: [Answer] = []
    nonisolated(unsafe) private static var requests: [URLRequest] = []

    /// A session whose requests get `answers`, one each; the last one again and again.
    static func session(_ answers: [Answer]) -> URLSession {
        lock.withLock { (self.answers, requests) = (answers, []) }
        let configuration = URLSessionConfiguration.ephemeral
        configuration.protocolClasses = [ScriptedServer.self]
        return URLSession(configuration: configuration)
    }

    static var seen: [URLRequest] { lock.withLock { requests } }

    override static func canInit(with request: URLRequest) -> Bool { true }

    override static func canonicalRequest(for request: URLRequest) -> URLRequest { request }

    override func startLoading() {
        let answer = Self.lock.withLock {
            Self.requests.append(request)
            return Self.answers.count > 1 ? Self.answers.removeFirst() : Self.answers[0]
        }
        guard answer.status > 0, let url = request.url,
            let response = HTTPURLResponse(
                url: url, statusCode: answer.status, httpVersion: "HTTP/1.1", headerFields: nil)
        else {
            client?.urlProtocol(self, didFailWithError: URLError(.networkConnectionLost))
            return
        }
        client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
        client?.urlProtocol(self, didLoad: Data(answer.body.utf8))
        client?.urlProtocolDidFinishLoading(self)
    }

    override func stopLoading() {}
}

/// One at a time: they share the scripted server.
@Suite("HTTP requests of a call", .serialized, .timeLimit(.minutes(1)))
struct CallRequestsTests {
    private static let ringing = #"{"state":"ringing"}"#
    private let call = CallID.random()

    private func requests(_ answers: (Int, String)...) throws -> CallRequests {
        let session = ScriptedServer.session(answers.map { (status: $0.0, body: $0.1) })
        return try CallRequests(server: "wss://calls.example.org/v1/signal", token: "wake1.x", session: session)
    }

    private static func body(_ request: URLRequest) -> String {
        if let body = request.httpBody { return String(decoding: body, as: UTF8.self) }
        guard let stream = request.httpBodyStream else { return "" }
        stream.open()
        defer { stream.close() }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = stream.read(&bytes, maxLength: bytes.count)
        return String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self)
    }

    @Test("go to the call's resource over TLS, with the token and the parameters of the socket's method")
    func paths() async throws {
        let push = PushID.random()
        let requests = try requests((200, Self.ringing))
        _ = try await requests.ringing(call)
        _ = try await requests.decline(call, reason: .busy)
        _ = try await requests.hangup(call, reason: .iceFailed)
        let report = PushReport(push: push, call: call, result: .failed, error: "\"5\"")
        #expect(try await requests.report(report) == CallStanding(state: .ringing))
        let seen = ScriptedServer.seen
        let base = "https://calls.example.org/v1"
        #expect(
            seen.map { $0.url?.absoluteString ?? "" } == [
                "\(base)/calls/\(call)/ringing", "\(base)/calls/\(call)/decline", "\(base)/calls/\(call)/hangup",
                "\(base)/pushes/\(push)/report",
            ])
        #expect(
            seen.map(Self.body) == [
                "{}", #"{"reason":"busy"}"#, #"{"reason":"ice_failed"}"#,
                #"{"call_id":"\#(call)","result":"failed","error":"\"5\""}"#,
            ])
        for request in seen {
            #expect(request.httpMethod == "POST")
            #expect(request.value(forHTTPHeaderField: "Authorization") == "Bearer wake1.x")
            #expect(request.value(forHTTPHeaderField: "Content-Type") == "application/json")
        }
    }

    @Test("answer a call: with a description, and without")
    func answer() async throws {
        let requests = try requests((200, #"{"won":true}"#))
        try await requests.answer(call, sdp: .text("v=0\r\n"))
        try await requests.answer(call)
        #expect(ScriptedServer.seen.map(Self.body) == [#"{"sdp":"v=0\r\n"}"#, "{}"])
    }

    @Test("are repeated when the network fails, a proxy answers, or the server is overloaded")
    func repeated() async throws {
        let overloaded = #"{"code":-32011,"message":"busy","data":{"code":"overloaded","retry_after_ms":10}}"#
        let requests = try requests((0, ""), (502, "<html>"), (503, overloaded), (200, Self.ringing))
        #expect(try await requests.ringing(call).state == .ringing)
        #expect(ScriptedServer.seen.count == 4)
    }

    @Test("end with the last failure when their time is over")
    func limit() async throws {
        var requests = try requests((502, "<html>"))
        requests.limit = .milliseconds(100)
        await #expect(throws: SoftphoneError.notConnected(lastFailure: "HTTP status 502")) {
            try await requests.ringing(call)
        }
        #expect(ScriptedServer.seen.count == 1)
    }

    @Test("are not repeated after a refusal, which says why")
    func refused() async throws {
        let requests = try requests(
            (409, #"{"code":-32004,"message":"over","data":{"code":"call_ended","reason":"cancelled"}}"#))
        await #expect(throws: SoftphoneError.refused(SignalError(.callEnded(.cancelled), "over"))) {
            try await requests.answer(call)
        }
        let unreadable = try self.requests((200, "<html>"))
        await #expect(throws: SoftphoneError.unexpectedReply) { try await unreadable.get(call) }
        #expect(ScriptedServer.seen.count == 1)
    }
}

@Suite("A phone without a server")
struct UnreachableTests {
    @Test("reports each failed connection, and gives up connecting in time")
    func unreachable() async throws {
        var configuration = Softphone.Configuration(
            // Port 9 of this machine: nobody listens.
            url: "ws://127.0.0.1:9", token: .fixed("token"), device: DeviceDescription(id: .random(), platform: .ios))
        configuration.connectLimit = .seconds(3)
        let phone = try Softphone(configuration: configuration)
        var events = phone.events().makeAsyncIterator()
        let error = await #expect(throws: SoftphoneError.self) { try await phone.connect() }
        guard case .notConnected(.some) = error, case .connection(.down(nil, _, _)) = await events.next() else {
            Issue.record("\(String(describing: error))")
            return
        }
        await phone.disconnect()
    }
}
