import CallVocabulary
import HTTP2
import Logging

/// A sender on one connection to the Web Push service. Confined to the simulator's loop.
final class WebPushSession: ProviderSession {
    private let core: SimulatorCore
    /// The connection owns this object.
    private unowned let connection: SimulatorConnection

    init(core: SimulatorCore, connection: SimulatorConnection) {
        self.core = core
        self.connection = connection
    }

    func streamClosed(_ stream: StreamID) {}
    func connectionClosed() {}

    func receive(_ request: HTTP2ServerRequest, stream: StreamID) {
        core.counts.received += 1
        let now = WallClock.now()
        do throws(WebPushError) {
            let push = try WebPushRequest(
                method: request.method, path: request.path,
                fields: request.fields.map { (name: $0.name, value: $0.value) }, body: request.body,
                standing: { standing(of: $0) },
                authorize: { [webPush = core.webPush] value, key throws(WebPushError) in
                    try webPush.authorize(value, for: key, now: now)
                })
            accept(push, stream, now: now)
        } catch {
            core.logger.debug(
                "push refused",
                metadata: ["reason": .string(error.refusal.rawValue), "message": .string("\(error.message)")])
            connection.refuse(stream, Self.reply(error), reason: error.refusal.rawValue)
        }
    }

    static func reply(_ error: WebPushError, _ fields: [HTTPField] = []) -> SimulatorReply {
        let challenge = error.status == 401 ? [HTTPField("www-authenticate", "vapid")] : []
        return .json(error.status, PhoneLinkMessages.encode(error), challenge + fields)
    }

    private func standing(of subscription: String) -> WebPushRequest.Standing {
        guard let phone = core.phones[subscription], let known = phone.subscription else {
            return core.configuration.acceptsUnknownTokens ? .subscribed(key: nil) : .unknown
        }
        return phone.unregisteredSince == nil ? .subscribed(key: known.serverKey) : .gone
    }

    private func accept(_ request: WebPushRequest, _ stream: StreamID, now: Instant) {
        let phone = core.phones[request.subscription]
        var push = AcceptedWebPush(
            id: core.freshID(), subscription: request.subscription, urgency: request.urgency.rawValue,
            timeToLive: .seconds(request.timeToLive), topic: request.topic, body: request.body, payload: nil)
        var fault: EncryptedContent.Fault?
        if let keys = phone?.subscription?.keys, !request.body.isEmpty {
            do throws(EncryptedContent.Fault) { push.payload = try keys.decrypt(request.body) } catch { fault = error }
        }
        phone?.remember(push, authorization: request.authorization)
        let reply = SimulatorReply(
            status: 201,
            fields: [
                HTTPField("location", "\(core.webPush.origin)/message/\(push.id)", isSensitive: true),
                HTTPField("ttl", "\(request.timeToLive)"),
            ])
        let accepted = SimulatorConnection.Acceptance(reply: reply, fields: []) { [core, push] delay in
            if let fault { return core.dropUndecryptable(push, because: fault) }
            core.send(push, delay: delay)
        }
        let order = core.takeFault(.webpush, deviceToken: request.subscription)
        core.configuration.onWebPush?(SeenWebPush(push: push, at: now, fault: order?.effect))
        connection.conclude(stream, accepted, fault: order)
    }
}

@available(*, unavailable)
extension WebPushSession: Sendable {}

extension SimulatorCore {
    /// Sends an accepted push to its browser, after `delay`.
    func send(_ push: AcceptedWebPush, delay: Duration?) {
        guard let phone = phones[push.subscription] else { return drop(PhoneParcel(push), reason: "no_phone") }
        send(push, to: phone, delay: delay)
    }

    /// The push service cannot decrypt a push, so it has accepted it. The browser drops it, and tells nobody.
    func dropUndecryptable(_ push: AcceptedWebPush, because fault: EncryptedContent.Fault) {
        logger.warning(
            "the browser cannot decrypt a push", metadata: ["push": .string(push.id), "fault": .string(fault.rawValue)])
        drop(PhoneParcel(push), reason: "undecryptable_" + fault.rawValue)
    }
}
