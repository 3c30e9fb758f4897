/// A parser of untrusted bytes, and the properties that hold for any input.
///
/// libFuzzer calls ``violation(_:)`` with generated inputs, `FuzzingTests` with those in `Corpora`.
public enum Parser: String, CaseIterable, Sendable {
    /// `WireJSON`.
    case json
    /// `SignalProtocol`: frames of clients.
    case clientFrames = "client-frames"
    /// `SignalProtocol`: frames of servers.
    case serverFrames = "server-frames"
    /// `SignalProtocol`: bodies of HTTP requests, and the answers of an authorization hook.
    case bodies
    /// `CallStore`: the first byte says which release wrote the entry.
    case journal
    /// `OutgoingHTTP`: responses, and whether their connections are kept.
    case responses
    /// Whole responses to the server's own requests: of an identity provider, a receiver of events, and an authorization
    /// hook.
    case exchanges
    /// `LibWebSockets`: heads of requests.
    case requests
    /// `LibWebSockets`: PROXY protocol, and the addresses in `X-Forwarded-For`.
    case proxyHeaders = "proxy-headers"
    /// `LibWebSockets`: frames of clients.
    case webSocketFrames = "websocket-frames"
    /// `PushCore`: the documents of payload profiles.
    case profiles
    /// `PushCore`: the first line is the value of `Retry-After`, the rest a body of a push provider. A machine gets the
    /// answers.
    case pushAnswers = "push-answers"
    /// `PushCore`: the body of an OAuth token endpoint. A machine gets the token.
    case accessTokens = "access-tokens"
    /// `ClientTokens`: a token, or the JSON of a header and, after a line break, of claims.
    case tokens
    /// `ClientTokens`: a JWK Set or keys in PEM.
    case keys
    /// URLs and origins, one a line.
    case urls

    /// The property that does not hold for `bytes`; nil when all do.
    public func violation(_ bytes: [UInt8]) -> String? {
        do throws(Violation) {
            try check(bytes)
            return nil
        } catch {
            return error.words
        }
    }

    private func check(_ bytes: [UInt8]) throws(Violation) {
        switch self {
        case .json: try JSONChecks.check(bytes)
        case .clientFrames: try FrameChecks.check(client: bytes)
        case .serverFrames: try FrameChecks.check(server: bytes)
        case .bodies: try FrameChecks.check(body: bytes)
        case .journal: try JournalChecks.check(bytes)
        case .responses: try HTTPChecks.check(response: bytes)
        case .exchanges: try ExchangeChecks.check(bytes)
        case .requests: try HTTPChecks.check(request: bytes)
        case .proxyHeaders: try HTTPChecks.check(proxyHeader: bytes)
        case .webSocketFrames: try HTTPChecks.check(frames: bytes)
        case .profiles: try PushChecks.check(profile: bytes)
        case .pushAnswers: try PushChecks.check(answer: bytes)
        case .accessTokens: try PushChecks.check(accessToken: bytes)
        case .tokens: try TokenChecks.check(token: bytes)
        case .keys: try TokenChecks.check(keys: bytes)
        case .urls: try URLChecks.check(bytes)
        }
    }
}

/// A property that does not hold.
struct Violation: Error {
    let words: String

    init(_ words: String) { self.words = words }
}

func require(_ holds: Bool, _ words: @autoclosure () -> String) throws(Violation) {
    guard holds else { throw Violation(words()) }
}
