import CallVocabulary
import Foundation
import SignalProtocol
import SoftphoneSession
import WireJSON

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A call's state after a request: `{state, reason?}`.
public struct CallStanding: Equatable, Sendable {
    public let state: CallState
    /// Why the call has ended.
    public let reason: EndReason?

    public init(state: CallState, reason: EndReason? = nil) {
        (self.state, self.reason) = (state, reason)
    }
}

/// A call's requests over HTTP, for an app without a socket: just woken by a push, or about to be suspended.
///
/// All are idempotent. They are repeated after a network failure and when the server is overloaded, until ``limit`` is
/// over. Any thread.
///
/// Each throws `refused` with the server's error, `notConnected` when no answer came in time, and `closed` when its task
/// was cancelled.
public struct CallRequests: Sendable {
    /// How long a request is repeated. iOS gives an app in the background about 30 s.
    public var limit: Duration = .seconds(20)

    private let server: URLComponents
    @Secret private var token: String
    private let session: URLSession

    /// How long one attempt may take.
    private static let attemptTimeout: TimeInterval = 10
    private static let firstDelay: Duration = .milliseconds(500)
    private static let longestDelay: Duration = .seconds(4)

    /// - Parameters:
    ///   - server: the URL of a ``Softphone``; `wss` becomes `https`, and its path is not used.
    ///   - token: the push's wake token, which is for its call and device alone; or a user's token.
    /// - Throws: `badURL`.
    public init(server: String, token: String, session: URLSession = .shared) throws(SoftphoneError) {
        guard var url = URLComponents(string: server), url.host?.isEmpty == false else { throw .badURL(server) }
        switch url.scheme {
        case "ws", "http": url.scheme = "http"
        case "wss", "https": url.scheme = "https"
        default: throw .badURL(server)
        }
        (url.path, url.query, url.fragment) = ("", nil, nil)
        self.server = url
        self.token = token
        self.session = session
    }

    /// The call as this device sees it; also long after it has ended.
    public func get(_ call: CallID) async throws(SoftphoneError) -> CallSnapshot {
        guard case .call(let snapshot) = try await reply("/v1/calls/\(call)") else { throw .unexpectedReply }
        return snapshot
    }

    /// Tells what became of a push. After `reported` the caller hears ringback.
    public func report(_ report: PushReport) async throws(SoftphoneError) -> CallStanding {
        try await standing("/v1/pushes/\(report.push)/report") { json in
            json.field("call_id", report.call)
            json.field("result", report.result.rawValue)
            json.field("error", report.error)
        }
    }

    /// Tells that this device shows the call.
    public func ringing(_ call: CallID) async throws(SoftphoneError) -> CallStanding {
        try await standing("/v1/calls/\(call)/ringing") { _ in }
    }

    /// Answers. Returns when this device has the call.
    /// - Throws: also `refused` with `alreadyAnswered` or `callEnded`: the call is lost.
    public func answer(_ call: CallID, sdp: RawJSON? = nil) async throws(SoftphoneError) {
        guard case .won = try await reply("/v1/calls/\(call)/answer", body: { $0.field("sdp", sdp) }) else {
            throw .unexpectedReply
        }
    }

    public func decline(
        _ call: CallID, reason: DeclineReason = .declined
    ) async throws(SoftphoneError) -> CallStanding {
        try await standing("/v1/calls/\(call)/decline") { $0.field("reason", reason.rawValue) }
    }

    public func hangup(
        _ call: CallID, reason: HangupReason = .hangup
    ) async throws(SoftphoneError) -> CallStanding {
        try await standing("/v1/calls/\(call)/hangup") { $0.field("reason", reason.rawValue) }
    }

    // MARK: Requests

    private func standing(
        _ path: String, _ body: @escaping (inout JSONWriter) -> Void
    ) async throws(SoftphoneError) -> CallStanding {
        guard case .callState(let state, let reason) = try await reply(path, body: body) else {
            throw .unexpectedReply
        }
        return CallStanding(state: state, reason: reason)
    }

    /// - Parameter body: writes the members of the body of a POST; nil makes a GET.
    private func reply(
        _ path: String, body: ((inout JSONWriter) -> Void)? = nil
    ) async throws(SoftphoneError) -> Reply {
        var url = server
        url.path = path
        guard let url = url.url else { throw .badURL("\(server)") }
        var request = URLRequest(url: url)
        request.timeoutInterval = Self.attemptTimeout
        request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization")
        if let body {
            request.httpMethod = "POST"
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
            request.httpBody = Data(JSONWriter.bytes { $0.object(body) })
        }
        return try await reply(to: request)
    }

    private func reply(to request: URLRequest) async throws(SoftphoneError) -> Reply {
        let end = ContinuousClock.now + limit
        var delay = Self.firstDelay
        while true {
            var wait = delay
            let failure: SoftphoneError
            do {
                let (body, response) = try await session.data(for: request)
                let status = (response as? HTTPURLResponse)?.statusCode ?? 0
                switch Self.read(body, status: status) {
                case .reply(let reply): return reply
                case .error(let error):
                    guard let retryAfter = error.retryAfter else { throw SoftphoneError.refused(error) }
                    wait = max(wait, retryAfter)
                    failure = .refused(error)
                case .unreadable where status >= 500: failure = .notConnected(lastFailure: "HTTP status \(status)")
                case .unreadable: throw SoftphoneError.unexpectedReply
                }
            } catch let error as SoftphoneError {
                throw error
            } catch {
                if Task.isCancelled { throw .closed }
                failure = .notConnected(lastFailure: error.localizedDescription)
            }
            guard ContinuousClock.now + wait < end else { throw failure }
            do { try await Task.sleep(for: wait) } catch { throw .closed }
            delay = min(delay * 2, Self.longestDelay)
        }
    }

    private enum Answer {
        case reply(Reply)
        case error(SignalError)
        case unreadable
    }

    /// An HTTP body equals the `result` or `error` of the socket's answer. In an answer's envelope the same decoder reads it.
    private static func read(_ body: Data, status: Int) -> Answer {
        let member = status == 200 ? "result" : "error"
        let frame = Array(#"{"jsonrpc":"2.0","id":1,"\#(member)":"#.utf8) + body + [UInt8(ascii: "}")]
        return switch SignalDecoder.decode(serverFrame: frame) {
        case .success(.message(.reply(_, let reply))): .reply(reply)
        case .success(.message(.error(_, let error))): .error(error)
        case .success, .failure: .unreadable
        }
    }
}

extension SignalError {
    /// How long to wait before the request is repeated; nil when that does not help.
    fileprivate var retryAfter: Duration? {
        switch code {
        case .overloaded(let wait), .rateLimited(let wait): wait
        case .internalError, .draining: .zero
        case .parseError, .invalidRequest, .methodNotFound, .invalidParams, .unauthenticated, .forbidden, .notFound,
            .callEnded, .alreadyAnswered, .badState, .tooLarge, .conflict, .limitReached:
            nil
        }
    }
}
