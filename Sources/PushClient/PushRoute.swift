import CallVocabulary
import HTTP2
import PushCore
import TLS

/// The data for one pool, checked before the loop starts: one credential of one provider in one environment.
package struct PushRoute: Sendable {
    enum Credential: Sendable {
        /// Provider tokens are signed locally, every 50 minutes.
        case key(ProviderTokenSigner)
        /// The connection is the credential.
        case certificate(APNSCertificate)
        /// The provider issues tokens for a service account.
        case account(FCMServiceAccount)
    }

    let provider: PushProvider
    let environment: PushEnvironment
    /// A display name: `APNs production`, `FCM my-project`.
    let name: String
    /// Distinguishes the credentials of one provider: the key's id, the project, the certificate's first topic; for Web
    /// Push the entry of `push.webpush.hosts`.
    let credentialName: String
    let credential: Credential
    /// The permitted topics, or the one project; nil where that is unknown here.
    let topics: Set<String>?
    let host: String
    let port: UInt16
    let tls: TLSClientContext
    let policy: PushPolicy
    /// The host for registrations; nil for APNs.
    let registrations: HTTPSHost?
    /// Whether the configuration names this very host; false for a push service below a `*`, which devices choose.
    let isListed: Bool
    /// Whether no device has invented the host.
    var isKnown: Bool { isListed || WebPushEndpoint.browserHosts.contains(host) }
    private let origin: Origin

    /// The input of the route: routes with equal input are unchanged.
    private enum Origin: Equatable {
        case key(APNSKey, TLSClientContext.Trust)
        case certificate(TLSIdentity, TLSClientContext.Trust)
        case account(FCMServiceAccount, TLSClientContext.Trust)
        case webPush(WebPushKey, subject: String, TLSClientContext.Trust)
    }

    /// - Throws: ``PushConfigurationError``.
    package init(_ endpoint: APNSEndpoint) throws {
        provider = .apns
        isListed = true
        environment = endpoint.environment
        name = "APNs \(endpoint.environment.rawValue)"
        host = endpoint.host
        port = endpoint.port
        registrations = nil
        try Self.refuseBinaryAPI(endpoint, name: name)
        switch endpoint.credential {
        case .key(let key, let topics):
            credentialName = key.keyID
            self.topics = topics
            credential = .key(try Self.signer(key, name: name))
            origin = .key(key, endpoint.trust)
            policy = endpoint.policy.with(.signedToken)
            tls = try Self.context(endpoint.trust, identity: nil, name: name)
        case .certificate(let certificate):
            guard certificate.environments.contains(endpoint.environment) else {
                throw PushConfigurationError(
                    source: name, field: "certificate",
                    problem:
                        "it is for \(certificate.environments.map(\.rawValue).sorted().joined(separator: ", ")) only")
            }
            credentialName = certificate.topics.min() ?? "certificate"
            topics = certificate.topics
            credential = .certificate(certificate)
            origin = .certificate(certificate.identity, endpoint.trust)
            policy = endpoint.policy.with(.certificate)
            tls = try Self.context(endpoint.trust, identity: certificate.identity, name: name)
        }
    }

    /// - Throws: ``PushConfigurationError``.
    init(_ endpoint: FCMEndpoint) throws {
        provider = .fcm
        isListed = true
        environment = .production
        name = "FCM \(endpoint.account.project)"
        credentialName = endpoint.account.project
        credential = .account(endpoint.account)
        origin = .account(endpoint.account, endpoint.trust)
        topics = [endpoint.account.project]
        host = endpoint.host
        port = endpoint.port
        policy = endpoint.policy.with(.fetchedToken)
        registrations = HTTPSHost(name: endpoint.registrationHost, port: endpoint.registrationPort)
        try Self.refuseLegacyAPI(endpoint, name: name)
        tls = try Self.context(endpoint.trust, identity: nil, name: name)
    }

    /// The route to one push service. The configuration was checked.
    init(_ webPush: WebPushRoutes, host: String, port: UInt16, pattern: WebPushHost) {
        provider = .webpush
        environment = .production
        let authority = HTTPSHost(name: host, port: port).authority
        name = "Web Push \(authority)"
        credentialName = pattern.description
        isListed = pattern.isExact
        let endpoint = webPush.endpoint
        credential = .key(
            ProviderTokenSigner(webPush.key, audience: "https://\(authority)", subject: endpoint.subject))
        origin = .webPush(webPush.key, subject: endpoint.subject, endpoint.trust)
        topics = [webPush.key.applicationServerKey]
        self.host = host
        self.port = port
        registrations = nil
        var policy = endpoint.policy.with(.signedToken)
        policy.isChosenByDevices = true
        policy.providerToken.refreshAge = ProviderTokenSigner.vapidLife - .seconds(3600)
        policy.providerToken.longestAge = ProviderTokenSigner.vapidLife - .seconds(1800)
        // No push service limits how often a token is new; this limits the work.
        policy.providerToken.shortestInterval = .seconds(60)
        // For each push service, and a token is long.
        policy.throttledDevices = min(policy.throttledDevices, 1000)
        self.policy = policy
        tls = webPush.tls
    }

    /// Whether `other` has the same endpoint, credential and topics.
    func isSame(as other: PushRoute) -> Bool {
        origin == other.origin && topics == other.topics && environment == other.environment && host == other.host
            && port == other.port && registrations == other.registrations && credentialName == other.credentialName
    }

    /// Whether the route can serve this token.
    func covers(_ token: PushToken) -> Bool {
        topics?.contains(token.topic) ?? true
    }

    /// Interprets an answer of this provider.
    func answer(status: Int, body: [UInt8], retryAfter: Duration?) -> PushAnswer {
        switch provider {
        case .apns: .apns(status: status, body: body)
        case .fcm: .fcm(status: status, body: body, retryAfter: retryAfter)
        case .webpush: .webPush(status: status, body: body, retryAfter: retryAfter)
        }
    }

    /// Advice for a refused credential.
    var advice: String {
        switch credential {
        case .key where provider == .webpush:
            "check push.webpush.subject, which Apple refuses if its domain is not public, and this machine's clock"
        case .key: CredentialHealth.keyAdvice
        case .certificate: "check that the certificate was not revoked"
        case .account: "check the service account's role and that the project's FCM API is on"
        }
    }

    /// Advice for a refused token.
    var addressAdvice: String {
        switch provider {
        case .apns: "a token of the other environment or app?"
        case .fcm: "a token of another project, or an APNs key that the project lacks?"
        case .webpush: "a subscription made with another key? or is push.webpush.subject or this machine's clock wrong?"
        }
    }

    private static func context(
        _ trust: TLSClientContext.Trust, identity: TLSIdentity?, name: String
    ) throws -> TLSClientContext {
        do {
            return try TLSClientContext(trust: trust, identity: identity)
        } catch {
            throw PushConfigurationError(source: name, problem: "\(error)")
        }
    }

    private static func signer(_ key: APNSKey, name: String) throws -> ProviderTokenSigner {
        do {
            return try ProviderTokenSigner(key)
        } catch {
            // The library's message may quote the key, so it is omitted.
            throw PushConfigurationError(
                source: name, field: "key", problem: "the key \(key.keyID) is not a P-256 private key in PEM (.p8)")
        }
    }

    /// `gateway.push.apple.com:2195` and `feedback.push.apple.com:2196` used Apple's binary protocol.
    private static func refuseBinaryAPI(_ endpoint: APNSEndpoint, name: String) throws {
        let host = endpoint.host.lowercased()
        let isBinary = ["gateway.", "feedback."].contains { host.hasPrefix($0) } && host.hasSuffix("push.apple.com")
        guard isBinary || endpoint.port == 2195 || endpoint.port == 2196 else { return }
        throw PushConfigurationError(
            source: name, field: isBinary ? "host" : "port",
            problem:
                "\(endpoint.host):\(endpoint.port) is the binary provider API, which Apple shut down in March 2021: "
                + "use \(APNSEndpoint.host(of: endpoint.environment)) on port 443 or 2197")
    }

    /// `gcm-http.googleapis.com`, `android.googleapis.com` and `fcm-xmpp.googleapis.com:5235` were FCM's before HTTP v1.
    private static func refuseLegacyAPI(_ endpoint: FCMEndpoint, name: String) throws {
        let legacy = ["gcm-http.googleapis.com", "android.googleapis.com", "fcm-xmpp.googleapis.com"]
        guard legacy.contains(endpoint.host.lowercased()) || endpoint.host.contains("/") else { return }
        throw PushConfigurationError(
            source: name, field: "host",
            problem: "\(endpoint.host) is FCM's legacy API, which was shut down in 2024: "
                + "use \(FCMEndpoint.standardHost), which speaks HTTP v1")
    }
}

extension PushPolicy {
    /// Sets the credential's kind in the policy, whatever kind the policy was made with.
    fileprivate func with(_ credential: Credential) -> PushPolicy {
        var policy = self
        policy.credential = credential
        return policy
    }
}
