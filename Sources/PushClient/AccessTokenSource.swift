import CallVocabulary
import EventLoop
import Foundation
import HTTP2
import Logging
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
    private static let assumedLife: Int64 = 3600
    /// A shorter lifetime would end before the token's use.
    private static let shortestLife: Int64 = 30

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

    private struct Answer: Decodable {
        var access_token: String?
        var expires_in: Int64?
        var error: String?
        var error_description: String?
    }

    private func answered(_ result: Result<HTTPSExchange.Response, HTTPSExchange.Failure>) {
        exchange = nil
        switch result {
        case .failure(let failure):
            finish(.failure(Failure(description: "no access token from \(account.tokenHost.authority): \(failure)")))
        case .success(let response):
            let answer =
                ForeignText.areComparable(inJSON: response.body)
                ? try? JSONDecoder().decode(Answer.self, from: Data(response.body)) : nil
            guard response.status == 200, let text = answer?.access_token, Self.isPrintable(text) else {
                return finish(.failure(Failure(description: Self.words(response.status, answer))))
            }
            // At most a day, so that an error of the provider does not keep a token forever.
            let life = min(answer?.expires_in ?? Self.assumedLife, 24 * 3600)
            guard life >= Self.shortestLife else {
                return finish(.failure(Failure(description: "an access token that ends after \(life) s is of no use")))
            }
            let token = Token(text: text, expiresAt: now() + .seconds(life))
            current = token
            log.info(
                "access token fetched",
                metadata: ["token": .string("\(text.prefix(8))…"), "seconds": .stringConvertible(life)])
            finish(.success(token))
        }
    }

    private func finish(_ result: Result<Token, Failure>) {
        let waiting = waiting
        self.waiting = []
        for completion in waiting { completion(result) }
    }

    /// Required for the value of a header field.
    private static func isPrintable(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { 0x21...0x7E ~= $0 }
    }

    private static func words(_ status: Int, _ answer: Answer?) -> String {
        let code = answer?.error.map { String($0.prefix(60)) } ?? "HTTP \(status)"
        let detail = answer?.error_description.map { ": \($0.prefix(120))" } ?? ""
        let advice =
            switch answer?.error {
            case "invalid_grant": "; check the service account's key, and this machine's clock"
            case "invalid_client", "unauthorized_client": "; the service account was deleted or may not do this"
            default: ""
            }
        return "no access token (\(code))\(detail)\(advice)"
    }
}

@available(*, unavailable)
extension AccessTokenSource: Sendable {}

private struct WeakSource {
    weak var source: AccessTokenSource?
}
