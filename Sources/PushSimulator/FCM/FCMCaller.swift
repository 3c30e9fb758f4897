import CallVocabulary
import EventLoop
import HTTP2

/// A client on one connection to FCM's port: OAuth, messages and the registration API. Confined to the simulator's
/// loop.
final class FCMCaller: ProviderSession {
    private let core: SimulatorCore
    /// The connection owns this object.
    private unowned let connection: SimulatorConnection
    private var fcm: FCMService { core.fcm }

    init(core: SimulatorCore, connection: SimulatorConnection) {
        self.core = core
        self.connection = connection
    }

    func streamClosed(_ stream: StreamID) {}
    func connectionClosed() {}

    func receive(_ request: HTTP2ServerRequest, stream: StreamID) {
        let path = request.path.prefix { $0 != "?" }
        guard request.method == "POST" else { return notFound(request, stream) }
        if path == FCMService.tokenPath { return exchange(request, stream) }
        if path.hasPrefix("/v1/projects/"), path.hasSuffix("/messages:send") {
            let project = path.dropFirst("/v1/projects/".count).dropLast("/messages:send".count)
            return send(request, project: String(project), stream)
        }
        switch path {
        case "/iid/v1:batchImport": register(request, stream, .batchImport)
        case "/iid/v1:batchAdd": register(request, stream, .batchAdd)
        case "/iid/v1:batchRemove": register(request, stream, .batchRemove)
        default: notFound(request, stream)
        }
    }

    private func notFound(_ request: HTTP2ServerRequest, _ stream: StreamID) {
        let text = "The requested URL \(request.path) was not found on this server."
        connection.answer(stream, SimulatorReply(status: 404, body: Array(text.utf8)))
    }

    // MARK: OAuth

    private func exchange(_ request: HTTP2ServerRequest, _ stream: StreamID) {
        let assertion: String
        do throws(ServiceAccountGrant.Refusal) {
            assertion = try ServiceAccountGrant.assertion(body: request.body)
        } catch {
            return refuse(stream, error)
        }
        let verifier = fcm.verifier
        let home = LoopBound(connection, on: core.loop)
        Task {
            let read = await verifier.read(assertion)
            home.loop.execute { (home.value.session as? FCMCaller)?.assertionRead(read, stream) }
        }
    }

    private func assertionRead(_ assertion: ServiceAccountGrant.Assertion?, _ stream: StreamID) {
        guard !connection.isDisowned(stream) else { return }
        let now = WallClock.now()
        do throws(ServiceAccountGrant.Refusal) {
            try ServiceAccountGrant.check(assertion, account: fcm.account, audience: fcm.tokenURI, now: now)
        } catch {
            return refuse(stream, error)
        }
        let fault = core.takeFault(.oauth, deviceToken: nil)
        let token = fcm.issueAccessToken(now: now)
        let body = FCMService.Grant(
            accessToken: token, expiresIn: core.configuration.accessTokenLifetime.components.seconds)
        let reply = SimulatorReply.json(200, PhoneLinkMessages.encode(body))
        // Grants have their own count.
        guard let fault else {
            core.counts.accessTokens += 1
            return connection.answer(stream, reply)
        }
        connection.carryOut(fault, on: stream, SimulatorConnection.Acceptance(reply: reply, fields: []) { _ in })
    }

    private func refuse(_ stream: StreamID, _ refusal: ServiceAccountGrant.Refusal) {
        connection.refuse(stream, .json(400, PhoneLinkMessages.encode(refusal)), reason: refusal.error)
    }

    // MARK: Messages

    private func send(_ request: HTTP2ServerRequest, project: String, _ stream: StreamID) {
        core.counts.received += 1
        do throws(GoogleError) {
            try checkAccess(request)
            guard project == fcm.project else {
                throw .access(
                    403, "PERMISSION_DENIED",
                    "Permission 'cloudmessaging.messages.create' denied on resource "
                        + "'//cloudresourcemanager.googleapis.com/projects/\(project)' (or it may not exist).",
                    reason: "IAM_PERMISSION_DENIED")
            }
            let message = try FCMSendRequest(body: request.body)
            let recipients = try fcm.recipients(of: message.target)
            let id = fcm.freshMessageID()
            let accepted = SimulatorConnection.Acceptance(
                reply: .json(200, PhoneLinkMessages.encode(["name": "projects/\(project)/messages/\(id)"])), fields: []
            ) { [fcm] delay in
                if !message.isForValidationOnly { fcm.send(message, id: id, to: recipients, delay: delay) }
            }
            var token: String?
            if case .token(let one) = message.target { token = one }
            connection.conclude(stream, accepted, fault: core.takeFault(.fcm, deviceToken: token))
        } catch {
            connection.refuse(stream, .json(error.status, PhoneLinkMessages.encode(error)), reason: error.reason)
        }
    }

    private func checkAccess(_ request: HTTP2ServerRequest) throws(GoogleError) {
        if let refusal = fcm.accessTokens.refusal(of: request.first("authorization"), now: WallClock.now()) {
            throw refusal
        }
    }

    // MARK: The registration API

    private func register(_ request: HTTP2ServerRequest, _ stream: StreamID, _ call: InstanceIDCalls.Call) {
        do throws(InstanceIDCalls.Refusal) {
            // Without this header the bearer token would be a server key, which the API no longer accepts.
            let isOAuth = request.first("access_token_auth") == "true"
            let refusal = fcm.accessTokens.refusal(of: request.first("authorization"), now: WallClock.now())
            guard isOAuth, refusal == nil else { throw InstanceIDCalls.Refusal(status: 401, error: "Unauthorized") }
            connection.answer(stream, .json(200, try InstanceIDCalls(core: core).answer(call, request.body)))
        } catch {
            connection.answer(stream, .json(error.status, PhoneLinkMessages.encode(["error": error.error])))
        }
    }
}

@available(*, unavailable)
extension FCMCaller: Sendable {}
