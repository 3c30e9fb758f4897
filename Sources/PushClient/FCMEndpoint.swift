import HTTP2
import PushCore
import TLS

/// Where the pushes of one Firebase project go, and with what service account.
public struct FCMEndpoint: Sendable {
    /// Google's own.
    public static let standardHost = "fcm.googleapis.com"
    /// Google's own for the registration API.
    public static let standardRegistrationHost = "iid.googleapis.com"

    public var account: FCMServiceAccount
    public var host: String
    public var port: UInt16
    public var registrationHost: String
    public var registrationPort: UInt16
    /// Of all three hosts: for sending, for registrations, and for access tokens.
    public var trust: TLSClientContext.Trust
    /// Connections, time-outs, queue capacity.
    public var policy: PushPolicy

    /// - Parameter host: nil for Google's own; another one takes registrations as well.
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

    /// FCM takes about 100 streams on a connection, so it needs more of those than APNs.
    public static var standardPolicy: PushPolicy {
        var policy = PushPolicy()
        policy.streamsPerConnection = 100
        policy.connections = 6
        return policy
    }
}
