import CallVocabulary
import EventLoop
import HTTP2
import Logging
import PushCore
import TLS

/// Gets the access tokens of one service account: signs a JWT, exchanges it, and caches the token. Confined to the
/// loop.
///
/// The pool's machine decides when to fetch and when to retry. Other users take the cached token.
final class AccessTokenSource {
    struct Token: Equatable, Sendable {
        @Secret private(set) var text: String
        let expiresAt: Instant
    }

    typealias Failure = HTTPSExchange.Failure
    typealias Completion = (Result<Token, Failure>) -> Void

    /// A token is not used in its last minute.
    private static let margin = Duration.seconds(60)

    private let account: FCMServiceAccount
    private let tls: TLSClientContext
    private let loop: EventLoop
    private let now: @Sendable () -> Instant
    private let wall: @Sendable (Instant) -> Instant
    private let log: Logger
    private var current: Token?
    private var waiting: [Completion] = []
    private var exchange: HTTPSExchange?
    private var isClosed = false
    private enum Line { case fetched }
    private var lines = LineInterval<Line>()

    init(
        account: FCMServiceAccount, tls: TLSClientContext, loop: EventLoop, now: @escaping @Sendable () -> Instant,
        wall: @escaping @Sendable (Instant) -> Instant, log: Logger
    ) {
        self.account = account
        self.tls = tls
        self.loop = loop
        self.now = now
        self.wall = wall
        self.log = log
    }

    /// Returns the cached token, or fetches one.
    func token(_ completion: @escaping Completion) {
        if let current, current.expiresAt - now() > Self.margin { return completion(.success(current)) }
        fetch(completion)
    }

    /// Fetches a token; concurrent requests share one fetch.
    /// - Parameter completion: not called after `close`.
    func fetch(_ completion: @escaping Completion) {
        waiting.append(completion)
        guard waiting.count == 1 else { return }
        let source = LoopBound(WeakSource(source: self), on: loop)
        Task { [account, now, wall, loop] in
            let request: Result<HTTP2Request, Failure>
            do {
                let key = try AccessTokenRequest(privateKey: account.privateKey)
                request = .success(try await key.signed(for: account, now: wall(now())))
            } catch {
                // The library's message may quote the key, so it is omitted.
                request = .failure(Failure(description: "the service account's key signs nothing"))
            }
            loop.execute { source.value.source?.signed(request) }
        }
    }

    /// Discards the cached token, which the provider refused.
    func giveUp() { current = nil }

    func close() {
        isClosed = true
        waiting = []
        exchange?.cancel()
        exchange = nil
    }

    private func signed(_ request: Result<HTTP2Request, Failure>) {
        guard !isClosed else { return }
        switch request {
        case .failure(let failure): finish(.failure(failure))
        case .success(let request):
            exchange = HTTPSExchange.start(request, to: account.tokenHost, tls: tls, loop: loop) { [weak self] in
                self?.answered($0)
            }
        }
    }

    private func answered(_ result: Result<HTTPSExchange.Response, HTTPSExchange.Failure>) {
        exchange = nil
        switch result {
        case .failure(let failure):
            finish(.failure(Failure(description: "no access token from \(account.tokenHost.authority): \(failure)")))
        case .success(let response):
            switch AccessTokenAnswer(status: response.status, body: response.body) {
            case .refused(let words): finish(.failure(Failure(description: words)))
            case .token(let text, let life):
                let token = Token(text: text, expiresAt: now() + life)
                current = token
                if lines.allows(.fetched, at: now()) {
                    log.info(
                        "access token fetched", metadata: ["seconds": .stringConvertible(life.components.seconds)])
                }
                finish(.success(token))
            }
        }
    }

    private func finish(_ result: Result<Token, Failure>) {
        let waiting = waiting
        self.waiting = []
        for completion in waiting { completion(result) }
    }
}

@available(*, unavailable)
extension AccessTokenSource: Sendable {}

private struct WeakSource {
    weak var source: AccessTokenSource?
}
