import HTTP2
import PushCore
import TLS

/// The endpoint and service account for pushes of one Firebase project.
public struct FCMEndpoint: Sendable {
    /// Google's host.
    public static let standardHost = "fcm.googleapis.com"
    /// Google's host for the registration API.
    public static let standardRegistrationHost = "iid.googleapis.com"

    public var account: FCMServiceAccount
    public var host: String
    public var port: UInt16
    public var registrationHost: String
    public var registrationPort: UInt16
    /// The trust anchors for all three hosts: sending, registrations and access tokens.
    public var trust: TLSClientContext.Trust
    /// Connections, timeouts, queue capacity.
    public var policy: PushPolicy

    /// - Parameter host: nil for Google's host; another host also serves registrations.
    public init(
        account: FCMServiceAccount, host: String? = nil, port: UInt16 = 443,
        trust: TLSClientContext.Trust = .system, policy: PushPolicy = Self.standardPolicy
    ) {
        self.account = account
        self.host = host ?? Self.standardHost
        self.port = port
        registrationHost = host ?? Self.standardRegistrationHost
        registrationPort = port
        self.trust = trust
        self.policy = policy
    }

    /// FCM accepts about 100 streams on a connection, so it needs more connections than APNs.
    public static var standardPolicy: PushPolicy {
        var policy = PushPolicy()
        policy.streamsPerConnection = 100
        policy.connections = 6
        return policy
    }
}
