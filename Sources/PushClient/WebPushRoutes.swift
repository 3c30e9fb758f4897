import CallVocabulary
import HTTP2
import PushCore
import TLS

/// The checked configuration of Web Push: makes the route to each push service.
struct WebPushRoutes: Sendable {
    let endpoint: WebPushEndpoint
    let key: WebPushKey
    /// One for all push services.
    let tls: TLSClientContext

    /// - Returns: nil for an endpoint without a key.
    /// - Throws: ``PushConfigurationError``.
    init?(_ endpoint: WebPushEndpoint) throws {
        try Self.check(endpoint)
        guard let key = endpoint.key else { return nil }
        self.endpoint = endpoint
        self.key = key
        do {
            tls = try TLSClientContext(trust: endpoint.trust)
        } catch {
            throw PushConfigurationError(source: "Web Push", problem: "\(error)")
        }
    }

    /// Checks everything but the key, which a data folder may have.
    static func check(_ endpoint: WebPushEndpoint) throws(PushConfigurationError) {
        guard WebPushEndpoint.isSubject(endpoint.subject) else {
            throw PushConfigurationError(
                source: "Web Push", field: "subject", problem: "it is a contact such as mailto:admin@example.org")
        }
        guard !endpoint.hosts.isEmpty else {
            throw PushConfigurationError(source: "Web Push", field: "hosts", problem: "there is no host to push to")
        }
    }

    /// The first entry of `push.webpush.hosts` that covers the push service; nil when none does.
    func pattern(host: String, port: UInt16) -> WebPushHost? {
        endpoint.hosts.first { $0.covers(host: host, port: port) }
    }

    /// The route to a push service; nil when it is not among the hosts.
    func route(host: String, port: UInt16) -> PushRoute? {
        pattern(host: host, port: port).map { PushRoute(self, host: host, port: port, pattern: $0) }
    }

    /// Why a subscription cannot be pushed to, whatever its keys; nil when it can.
    func problem(of subscription: WebPushSubscription) -> String? {
        guard pattern(host: subscription.host, port: subscription.port) == nil else { return nil }
        let hosts = endpoint.hosts.map(\.description).joined(separator: ", ")
        return "the push service \(subscription.authority) is not in push.webpush.hosts, which has \(hosts)"
    }
}
