import CallVocabulary
import EventLoop
import HTTP2
import PushSimulator
import SoftphoneKit
import SoftphoneSession

/// The loop-confined part of a phone: the system's actions on the app, and the app's reactions.
final class PhoneBody {
    private struct WeakBody {
        weak var body: PhoneBody?
    }

    /// The topics of the phone's tokens.
    struct Addresses {
        /// `<bundle>.voip`, the Firebase project, or the server's key for Web Push.
        var call: String
        /// The bundle; nil when the phone registers no token for alerts.
        var alerts: String?
    }

    private let configuration: WakeablePhone.Configuration
    private var addresses: Addresses
    private let links: PhoneLinks
    /// Of a browser.
    private let worker: ServiceWorker?
    private var link: PhoneLink?
    /// nil until the phone is switched on.
    private(set) var callToken: String?
    private(set) var alertToken: String?
    private var liveCalls: Set<CallID> = []
    /// Called once the phone is reachable, or has failed.
    private var settle: ((Result<String, WakeablePhone.Failure>) -> Void)?
    /// The owner retains both.
    weak var softphone: Softphone?
    var onEvent: ((WakeablePhone.Event) -> Void)?

    init(
        configuration: WakeablePhone.Configuration, addresses: Addresses, links: PhoneLinks, worker: ServiceWorker?
    ) {
        self.configuration = configuration
        self.addresses = addresses
        self.links = links
        self.worker = worker
    }

    /// The `applicationServerKey` for a subscription, in base64url.
    var serverKey: String {
        get { addresses.call }
        set { addresses.call = newValue }
    }

    private var loop: EventLoop { links.loop }
    private var tokensHeld: Int { addresses.alerts == nil ? 1 : 2 }

    func pushTokens(_ token: String) -> [PushToken] {
        let call = PushToken(
            provider: provider, kind: provider == .apns ? .voip : .data, environment: environment,
            topic: addresses.call, token: token, profile: configuration.profile)
        guard let alerts = addresses.alerts, let alertToken else { return [call] }
        let alert = PushToken(
            provider: .apns, kind: .alert, environment: environment, topic: alerts, token: alertToken)
        return [call, alert]
    }

    private var provider: PushProvider {
        switch configuration.system {
        case .iPhone: .apns
        case .android: .fcm
        case .web: .webpush
        }
    }

    /// Only APNs has two environments.
    private var environment: PushEnvironment { provider == .apns ? configuration.environment : .production }

    /// Obtains a token, unless there is one, and makes the phone reachable.
    func switchOn(completion: @escaping (Result<String, WakeablePhone.Failure>) -> Void) {
        settle = completion
        let complete: (Result<String, WakeablePhone.Failure>) -> Void = { [weak self] result in
            let settle = self?.settle
            self?.settle = nil
            settle?(result)
        }
        let link = links.join(tokens: tokensHeld)
        self.link = link
        let isOfServer = provider != .webpush || configuration.serverKey == serverKey
        obtain(isOfServer ? configuration.deviceToken : nil, provider, topic: addresses.call, through: link) {
            [weak self] result in
            if case .success(let token) = result { self?.callToken = token }
            guard let self, case .success = result, let alerts = addresses.alerts else { return complete(result) }
            obtain(configuration.alertToken, .apns, topic: alerts, through: link) { [weak self] alert in
                if case .success(let token) = alert { self?.alertToken = token }
                complete(alert.flatMap { _ in result })
            }
        }
    }

    /// Makes the phone reachable by a token for `topic`: by `known`, or by a new one.
    private func obtain(
        _ known: String?, _ provider: PushProvider, topic: String, through link: PhoneLink,
        completion: @escaping (Result<String, WakeablePhone.Failure>) -> Void
    ) {
        guard let known else { return register(provider, topic: topic, through: link, completion: completion) }
        // A restarted simulator does not know the token; then the phone gets a new one.
        attach(known, through: link) { [weak self] result in
            switch result {
            case .success: completion(result)
            case .failure: self?.register(provider, topic: topic, through: link, completion: completion)
            }
        }
    }

    private func register(
        _ provider: PushProvider, topic: String, through link: PhoneLink,
        completion: @escaping (Result<String, WakeablePhone.Failure>) -> Void
    ) {
        let isTaken = link.register(
            topic: topic, environment: environment, name: configuration.name, provider: provider
        ) { [weak self] result in
            switch result {
            case .failure(.lost(let failure)):
                let words = "\(PhoneLink.Failure.lost(failure)); is the push simulator running?"
                completion(.failure(WakeablePhone.Failure(description: words)))
            case .failure(let failure): completion(.failure(WakeablePhone.Failure(description: "\(failure)")))
            case .success(let token): self?.attach(token, through: link, completion: completion)
            }
        }
        if !isTaken { completion(.failure(Self.linkGone)) }
    }

    private static let linkGone = WakeablePhone.Failure(
        description: "the link to the push simulator is gone; is it running?")

    private func attach(
        _ token: String, through link: PhoneLink, completion: @escaping (Result<String, WakeablePhone.Failure>) -> Void
    ) {
        var isAttached = false
        let isTaken = link.attach(token) { [weak self] event in
            switch event {
            case .attached:
                isAttached = true
                completion(.success(token))
            case .detached(let reason) where !isAttached:
                return completion(.failure(WakeablePhone.Failure(description: "the push simulator refused: \(reason)")))
            case .detached, .push, .killed: break
            }
            self?.systemSaid(event, token)
        }
        if !isTaken { completion(.failure(Self.linkGone)) }
    }

    func switchOff() {
        onEvent = nil
        if let link {
            for token in [callToken, alertToken].compactMap({ $0 }) { link.detach(token) }
            links.leave(link, tokens: tokensHeld)
        }
        link = nil
        worker?.close()
        let settle = settle
        self.settle = nil
        settle?(.failure(Self.linkGone))
    }

    private func systemSaid(_ event: PhoneLink.Event, _ token: String) {
        switch event {
        case .attached: break
        case .detached(let reason): onEvent?(.unreachable(reason: reason))
        case .killed(_, let isBlocked):
            softphone?.abandon()
            liveCalls = []
            onEvent?(.killed(isVoIPBlocked: isBlocked))
        case .push(let push): handle(push, token)
        }
    }

    /// The code of the PushKit delegate or the messaging service: shows the call, reports it to the system, then
    /// completes the push.
    private func handle(_ push: PhoneLink.Push, _ token: String) {
        onEvent?(.pushed(push))
        guard let content = PushContent(push) else { return }
        if let notice = content.notice { onEvent?(.notified(notice)) }
        if push.provider == .webpush { return showNotification(of: content, push, token) }
        // The system shows a call's alert; the app starts when the user taps it.
        guard push.isVoIP || push.provider == .fcm, content.notice?.type == nil else { return }
        let call: CallPush
        switch content.call(by: configuration.app, push) {
        case .success(let shown): call = shown
        case .failure(let failure):
            onEvent?(.failed(reason: failure.reading.words))
            return
        }
        onEvent?(.woken(call))
        guard configuration.reportsPushes else { return }
        liveCalls.insert(call.call)
        reportToServer(call)
        softphone?.received(call)
        guard push.mustReport || push.provider == .fcm else { return }
        link?.report(pushID: push.id, by: token) { [weak self] verdict in
            if case .success = verdict { self?.onEvent?(.reportedToSystem(call)) }
        }
    }

    /// The code of a service worker: shows a notification for any push, then reports a call. A late push announces a missed
    /// call.
    private func showNotification(of content: PushContent, _ push: PhoneLink.Push, _ token: String) {
        var call: CallPush?
        if content.notice?.type == nil {
            switch content.call(by: configuration.app, push) {
            case .success(let shown): call = shown
            case .failure(let failure): onEvent?(.failed(reason: failure.reading.words))
            }
        }
        if let call { onEvent?(.woken(call)) }
        guard configuration.reportsPushes else { return }
        let isLate = call.map { $0.expiresAt <= PushContent.now } ?? false
        let alert = content.notification(id: push.id, isLate: isLate)
        link?.report(pushID: push.id, by: token, alert: alert) { [weak self] verdict in
            if let call, case .success = verdict { self?.onEvent?(.reportedToSystem(call)) }
        }
        guard let call else { return }
        send(.report, call) { [weak self] in
            if !isLate { self?.clicked(call) }
        }
    }

    private func send(_ request: WakeablePhone.WorkerRequest, _ push: CallPush, then: @escaping () -> Void = {}) {
        worker?.send(request, push) { [weak self] failure in
            self?.onEvent?(.workerSent(request, push, failure: failure))
            then()
        }
    }

    /// The user's act, once the push is reported.
    private func clicked(_ push: CallPush) {
        switch configuration.click {
        case .none: break
        case .decline: send(.decline, push)
        case .open:
            liveCalls.insert(push.call)
            softphone?.received(push)
            softphone?.start()
        }
    }

    /// Goes online and reports the push before any other request.
    private func reportToServer(_ push: CallPush) {
        guard let softphone else { return }
        let me = LoopBound(WeakBody(body: self), on: loop)
        softphone.start()
        softphone.submit(.report(PushReport(push: push.push, call: push.call, result: .reported))) { result in
            var failure: SoftphoneError?
            if case .failure(let error) = result { failure = error }
            me.value.body?.onEvent?(.reportedToServer(push, failure: failure))
        }
    }

    /// - Returns: false, and `completion` is not called, when the phone is not linked to the simulator.
    func inject(_ order: PushFaultOrder, completion: @escaping (Bool) -> Void) -> Bool {
        var order = order
        order.token = callToken
        return link?.inject(order) { completion((try? $0.get()) != nil) } ?? false
    }

    /// - Returns: false, and `completion` is not called, when the phone is not linked to the simulator.
    func move(to state: PhoneLink.PhoneState, completion: @escaping (Bool) -> Void) -> Bool {
        guard let link, let callToken else { return false }
        return link.move(callToken, to: state) { completion((try? $0.get()) != nil) }
    }

    func appSaid(_ event: SoftphoneEvent, _ softphone: Softphone) {
        onEvent?(.app(event))
        switch event {
        case .incoming(let call, _), .state(let call): liveCalls.insert(call.id)
        case .ended(let call):
            liveCalls.remove(call.id)
            sleepIfIdle(softphone)
        case .latePush(let push, _):
            liveCalls.remove(push.call)
            sleepIfIdle(softphone)
        case .connection(.offline): onEvent?(.asleep)
        case .connection, .offer, .merged, .candidates, .update, .peer, .draining: break
        }
    }

    var hasCall: Bool { !liveCalls.isEmpty }

    private func sleepIfIdle(_ softphone: Softphone) {
        guard configuration.sleepsAfterCalls, liveCalls.isEmpty else { return }
        // After the other messages of the same frame, which may contain the next call.
        loop.inNextTurn { [weak self] in
            guard let self, liveCalls.isEmpty else { return }
            softphone.stop()
        }
    }
}

@available(*, unavailable)
extension PhoneBody: Sendable {}
