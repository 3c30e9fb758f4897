import CallVocabulary
import HTTP2
import PushVocabulary

extension SimulatorConnection {
    /// Applies `fault` to a request that passed all checks.
    func carryOut(_ fault: PushFault, on stream: StreamID, _ accepted: Acceptance) {
        core.counts.faults[PushFaultOrder(fault).fault, default: 0] += 1
        switch fault.effect {
        case .refuse(let reason, let status, let timestamp):
            refuse(stream, refusal(reason, accepted, status: status, timestamp: timestamp), reason: reason.rawValue)
        case .refuseMessage(let reason, let status, let retryAfter):
            let error = GoogleError(reason, status: status)
            let fields = retryAfter.map { [HTTPField("retry-after", "\($0)")] } ?? []
            refuse(stream, .json(error.status, PhoneLinkMessages.encode(error), fields), reason: error.reason)
        case .refuseWebPush(let refusal, let status, let retryAfter):
            let fields = retryAfter.map { [HTTPField("retry-after", "\($0)")] } ?? []
            let reply = WebPushSession.reply(WebPushError(refusal, status: status), fields)
            refuse(stream, reply, reason: refusal.rawValue)
        case .lose:
            core.counts.accepted += 1
            answer(stream, accepted.reply)
            core.counts.dropped["fault", default: 0] += 1
        case .deliverLate(let delay): accept(stream, accepted, delay: delay + core.random(upTo: fault.jitter))
        case .neverAnswer: core.counts.unanswered += 1
        case .retire(let goAway):
            switch goAway.lastStream {
            case .current: accept(stream, accepted)
            case .zero, .before: core.counts.unanswered += 1
            }
            retire(goAway, at: stream)
        case .reset(let code):
            core.counts.unanswered += 1
            http?.reset(stream, code)
        case .limitStreams(let limit):
            accept(stream, accepted)
            http?.updateSettings(maxConcurrentStreams: limit)
        case .refuseAndClose:
            refuse(stream, unavailable(accepted), reason: unavailableReason)
            close()
        case .blackHole:
            core.counts.unanswered += 1
            http?.blackHole()
        case .splitBody(let reason, let pause): answerInTwo(stream, accepted, reason: reason, pause: pause)
        case .emptyBody(let status): answer(stream, status, SimulatorReply(status: status, fields: accepted.fields))
        case .html(let status):
            let page = "<html><head><title>\(status)</title></head><body><h1>\(status)</h1></body></html>\n"
            let fields = [HTTPField("content-type", "text/html; charset=utf-8")]
            answer(stream, status, SimulatorReply(status: status, fields: fields, body: Array(page.utf8)))
        }
    }

    /// Sends a response that the provider's service does not send itself.
    private func answer(_ stream: StreamID, _ status: Int, _ reply: SimulatorReply) {
        guard (200...299).contains(status) else { return refuse(stream, reply, reason: "\(status)") }
        core.counts.accepted += 1
        core.counts.dropped["fault", default: 0] += 1
        answer(stream, reply)
    }

    private func refusal(
        _ reason: APNSReason, _ accepted: Acceptance, status: Int? = nil, timestamp: Instant? = nil
    ) -> SimulatorReply {
        let time = reason.status == 410 ? timestamp ?? WallClock.now() : timestamp
        let body = APNSResponse.refused(reason, id: "", timestamp: time).body
        return SimulatorReply(status: status ?? reason.status, fields: accepted.fields, body: body)
    }

    private var unavailableReason: String {
        switch port {
        case .apns: APNSReason.serviceUnavailable.rawValue
        case .fcm: FCMRefusal.unavailable.rawValue
        case .webpush: WebPushRefusal.unavailable.rawValue
        }
    }

    private func unavailable(_ accepted: Acceptance) -> SimulatorReply {
        switch port {
        case .apns: refusal(.serviceUnavailable, accepted)
        case .fcm: .json(503, PhoneLinkMessages.encode(GoogleError(.unavailable)))
        case .webpush: WebPushSession.reply(WebPushError(.unavailable))
        }
    }

    private func answerInTwo(_ stream: StreamID, _ accepted: Acceptance, reason: APNSReason, pause: Duration) {
        let reply: SimulatorReply
        switch port {
        case .apns:
            reply = refusal(reason, accepted)
            core.counts.rejected[reason.rawValue, default: 0] += 1
        case .fcm:
            reply = accepted.reply
            take(stream, accepted)
        // Its acceptance has no body.
        case .webpush:
            reply = WebPushSession.reply(WebPushError(.internalError))
            core.counts.rejected[WebPushRefusal.internalError.rawValue, default: 0] += 1
        }
        guard let http, http.startResponse(stream, status: reply.status, fields: reply.fields) else { return }
        let half = reply.body.count / 2
        http.send(stream, Array(reply.body[..<half]))
        core.after(pause) { [weak self] in
            self?.http?.send(stream, Array(reply.body[half...]))
            self?.http?.finish(stream)
        }
    }
}
