import CallVocabulary
import HTTP2
import PushCore
import TLS

/// The endpoint and credential for pushes of one APNs environment.
public struct APNSEndpoint: Sendable {
    /// The credential for APNs.
    public enum Credential: Sendable {
        /// Valid for all apps of a team, or for the given topics.
        case key(APNSKey, topics: Set<String>? = nil)
        /// Valid for the topics in the certificate.
        case certificate(APNSCertificate)
    }

    public var environment: PushEnvironment
    public var host: String
    /// 443, or 2197 for firewalls that block 443.
    public var port: UInt16
    public var credential: Credential
    public var trust: TLSClientContext.Trust
    /// Connections, timeouts, queue capacity.
    public var policy: PushPolicy

    /// - Parameter host: nil for Apple's host of the environment.
    public init(
        environment: PushEnvironment, host: String? = nil, port: UInt16 = 443, credential: Credential,
        trust: TLSClientContext.Trust = .system, policy: PushPolicy = PushPolicy()
    ) {
        self.environment = environment
        self.host = host ?? Self.host(of: environment)
        self.port = port
        self.credential = credential
        self.trust = trust
        self.policy = policy
    }

    public init(
        environment: PushEnvironment, host: String? = nil, port: UInt16 = 443, key: APNSKey,
        trust: TLSClientContext.Trust = .system, policy: PushPolicy = PushPolicy()
    ) {
        self.init(
            environment: environment, host: host, port: port, credential: .key(key), trust: trust, policy: policy)
    }

    /// Apple's host for an environment.
    public static func host(of environment: PushEnvironment) -> String {
        switch environment {
        case .production: "api.push.apple.com"
        case .sandbox: "api.sandbox.push.apple.com"
        }
    }
}

/// An APNs authentication key, as issued by the developer account.
public struct APNSKey: Equatable, Sendable {
    /// The content of the `.p8` file: a P-256 key in PEM.
    @Secret public var pem: String
    public var keyID: String
    public var teamID: String

    public init(pem: String, keyID: String, teamID: String) {
        self.pem = pem
        self.keyID = keyID
        self.teamID = teamID
    }
}
