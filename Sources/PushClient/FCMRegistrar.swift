import CallVocabulary
import EventLoop
import HTTP2
import PushCore

/// Sends requests to FCM's registration API, and broadcasts. Confined to a loop.
final class FCMRegistrar {
    typealias Completion = (FCMRegistrationAnswer) -> Void

    private struct Pending {
        let completion: Completion
        var exchange: HTTPSExchange?
    }

    private let route: PushRoute
    private let tokens: AccessTokenSource
    private let loop: EventLoop
    private var pending: [Int: Pending] = [:]
    private var next = 0

    init(route: PushRoute, tokens: AccessTokenSource, loop: EventLoop) {
        self.route = route
        self.tokens = tokens
        self.loop = loop
    }

    /// - Parameters:
    ///   - count: the number of tokens in the request.
    ///   - completion: called once on the loop; a failure is a text.
    func perform(_ registration: FCMRegistration, count: Int, completion: @escaping Completion) {
        let number = next
        next += 1
        pending[number] = Pending(completion: completion)
        tokens.token { [weak self] found in
            switch found {
            case .failure(let failure): self?.finish(number, .refused(failure.description))
            case .success(let token): self?.send(registration, token, count: count, number)
            }
        }
    }

    /// Ends requests in flight, which fail.
    func close() {
        for number in pending.keys.sorted() {
            pending[number]?.exchange?.cancel()
            finish(number, .refused("stopped"))
        }
    }

    private func send(
        _ registration: FCMRegistration, _ token: AccessTokenSource.Token, count: Int, _ number: Int
    ) {
        guard pending[number] != nil else { return }
        let api = HTTPSHost(name: route.host, port: route.port)
        let host = registration.isNotice ? api : route.registrations ?? api
        let request = HTTP2Request(
            method: "POST", authority: host.authority, path: registration.path,
            fields: registration.fields(accessToken: token.text).map { HTTPField($0.name, $0.value) },
            body: registration.body)
        pending[number]?.exchange = HTTPSExchange.start(request, to: host, tls: route.tls, loop: loop) {
            [weak self] result in
            self?.answered(result, count: count, number)
        }
    }

    private func answered(
        _ result: Result<HTTPSExchange.Response, HTTPSExchange.Failure>, count: Int, _ number: Int
    ) {
        switch result {
        case .failure(let failure): finish(number, .refused(failure.description))
        case .success(let response):
            if response.status == 401 { tokens.giveUp() }
            finish(number, FCMRegistrationAnswer(status: response.status, body: response.body, count: count))
        }
    }

    private func finish(_ number: Int, _ answer: FCMRegistrationAnswer) {
        pending.removeValue(forKey: number)?.completion(answer)
    }
}

@available(*, unavailable)
extension FCMRegistrar: Sendable {}
