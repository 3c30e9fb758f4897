import CallVocabulary
import EventLoop
import Foundation
import HTTP2
import PushSimulator
import SoftphoneKit

/// The phone's side that lives on the loop: what the system does to the app, and the app's answer to it.
final class PhoneBody {
    private struct WeakBody {
        weak var body: PhoneBody?
    }

    private let configuration: WakeablePhone.Configuration
    private let topic: String
    private let address: SocketAddress
    private let tls: TLSClientContext
    private let loop: EventLoop
    private var link: PhoneLink?
    private var liveCalls: Set<CallID> = []
    /// Waits for the phone to be reachable; called once.
    private var settle: ((Result<String, WakeablePhone.Failure>) -> Void)?
    /// The owner keeps both.
    weak var softphone: Softphone?
    var onEvent: ((WakeablePhone.Event) -> Void)?

    init(
        configuration: WakeablePhone.Configuration, topic: String, address: SocketAddress, tls: TLSClientContext,
        loop: EventLoop
    ) {
        self.configuration = configuration
        self.topic = topic
        self.address = address
        self.tls = tls
        self.loop = loop
    }

    func pushToken(_ token: String) -> PushToken {
        PushToken(provider: .apns, kind: .voip, environment: configuration.environment, topic: topic, token: token)
    }

    /// Gets a token, unless there is one, and makes the phone reachable by it.
    func switchOn(completion: @escaping (Result<String, WakeablePhone.Failure>) -> Void) {
        settle = completion
        let complete: (Result<String, WakeablePhone.Failure>) -> Void = { [weak self] result in
            let settle = self?.settle
            self?.settle = nil
            settle?(result)
        }
        let link = PhoneLink(loop: loop, to: address, tls: tls) { [weak self] failure in
            complete(.failure(WakeablePhone.Failure(description: "\(failure); is the push simulator running?")))
            self?.link = nil
            self?.onEvent?(.unreachable(reason: "\(failure)"))
        }
        self.link = link
        if let deviceToken = configuration.deviceToken {
            // A simulator that was started anew does not know it any more; then the phone gets another one.
            attach(deviceToken, through: link) { [weak self] result in
                switch result {
                case .success: complete(result)
                case .failure: self?.register(through: link, completion: complete)
                }
            }
        } else {
            register(through: link, completion: complete)
        }
    }

    private func register(
        through link: PhoneLink, completion: @escaping (Result<String, WakeablePhone.Failure>) -> Void
    ) {
        let isTaken = link.register(
            topic: topic, environment: configuration.environment, name: configuration.name
        ) { [weak self] result in
            switch result {
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
        link?.close()
        link = nil
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

    /// The PushKit delegate: show the call, say so, and only then let go of the push.
    private func handle(_ push: PhoneLink.Push, _ token: String) {
        guard push.isVoIP, let call = CallPush(payload: push.payload) else { return }
        liveCalls.insert(call.call)
        onEvent?(.woken(call))
        softphone?.received(call)
        guard configuration.reportsPushes, push.mustReport else { return }
        link?.report(pushID: push.id, by: token) { [weak self] verdict in
            if case .success = verdict { self?.onEvent?(.reportedToSystem(call)) }
        }
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
        case .connection, .offer, .merged, .candidates, .update, .draining: break
        }
    }

    var hasCall: Bool { !liveCalls.isEmpty }

    private func sleepIfIdle(_ softphone: Softphone) {
        guard configuration.sleepsAfterCalls, liveCalls.isEmpty else { return }
        let me = LoopBound(WeakBody(body: self), on: loop)
        // In a turn of its own, behind what the same frame brought: that may be the next call.
        loop.execute {
            guard let body = me.value.body, body.liveCalls.isEmpty else { return }
            Task { await softphone.disconnect() }
        }
    }
}

@available(*, unavailable)
extension PhoneBody: Sendable {}

extension CallPush {
    /// Reads the payload as the system hands it to the app: a dictionary.
    init?(payload: [UInt8]) {
        guard let object = try? JSONSerialization.jsonObject(with: Data(payload)) as? [String: Any] else { return nil }
        var fields: [String: String] = [:]
        for (key, value) in object {
            switch value {
            case let text as String: fields[key] = text
            case let number as NSNumber where key == "has_video": fields[key] = number.boolValue ? "true" : "false"
            case let number as NSNumber: fields[key] = number.stringValue
            case let other where key == "custom":
                if let data = try? JSONSerialization.data(withJSONObject: other) {
                    fields[key] = String(decoding: data, as: UTF8.self)
                }
            default: break
            }
        }
        self.init(fields: fields)
    }
}
