import AdminProtocol
import CallCore
import CallVocabulary
import WebhookClient

/// A request that the webhooks' thread answers.
protocol WebhookRequest: AdminRequest {
    /// - Throws: `AdminRefusal`, `StoreFailure`.
    func perform(_ webhooks: WebhookService) async throws -> Response
}

extension ListWebhooks: WebhookRequest {
    func perform(_ webhooks: WebhookService) async -> WebhooksView {
        WebhooksView(endpoints: await webhooks.endpoints())
    }
}

extension PauseWebhook: WebhookRequest {
    func perform(_ webhooks: WebhookService) async throws -> Done { try await webhooks.pause(name).done(name) }
}

extension ResumeWebhook: WebhookRequest {
    func perform(_ webhooks: WebhookService) async throws -> Done { try await webhooks.resume(name).done(name) }
}

extension ReplayWebhook: WebhookRequest {
    func perform(_ webhooks: WebhookService) async throws -> Done {
        let latest = Instant.latest.milliseconds
        guard (0...latest).contains(sinceMilliseconds) else {
            throw AdminRefusal(.invalidParams, "params.since_ms: expected 0 to \(latest)")
        }
        let since = Instant(milliseconds: sinceMilliseconds)
        guard since <= webhooks.wallTime else {
            throw AdminRefusal(.invalidParams, "params.since_ms: expected a time that is over; no event is sent again")
        }
        return try await webhooks.replay(name, since: since).done(name)
    }
}

extension TestWebhook: WebhookRequest {
    func perform(_ webhooks: WebhookService) async throws -> WebhookTestView {
        switch await webhooks.test(name) {
        case .answered(let status, let isTaken, let took)?:
            return WebhookTestView(isTaken: isTaken, status: status, tookMilliseconds: took.wholeMilliseconds)
        case .failed(let reason)?: return WebhookTestView(isTaken: false, failure: reason)
        case nil: throw AdminRefusal.noEndpoint(name)
        }
    }
}

extension Bool {
    /// - Throws: the refusal of an unknown endpoint, for false.
    fileprivate func done(_ name: String) throws(AdminRefusal) -> Done {
        guard self else { throw .noEndpoint(name) }
        return Done()
    }
}

extension AdminRefusal {
    fileprivate static func noEndpoint(_ name: String) -> AdminRefusal {
        AdminRefusal(.notFound, "There is no webhook endpoint '\(name)'; webhooks.file has them.")
    }
}
