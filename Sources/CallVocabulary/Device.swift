/// The platform of an app installation.
public enum Platform: String, Sendable, CaseIterable {
    case ios, android, web, desktop, cli
}

public enum PushProvider: String, Sendable, CaseIterable {
    case apns, fcm
    /// A browser's push service (RFC 8030).
    case webpush
}

public enum PushKind: String, Sendable, CaseIterable {
    case voip, alert, data
}

/// The provider's environment of a token. A property of the token, not of the server.
public enum PushEnvironment: String, Sendable, CaseIterable {
    case production, sandbox
}

/// A push address: a provider's token and how to use it.
public struct PushToken: Hashable, Sendable {
    /// The longest token of APNs and FCM, in bytes. Apple calls the length opaque; this only limits storage.
    public static let longest = 512
    /// The longest Web Push subscription, in bytes. The endpoints of Windows Notification Service are over 512.
    public static let longestSubscription = 2048

    public let provider: PushProvider
    public let kind: PushKind
    public let environment: PushEnvironment
    /// The APNs topic (`<bundle>.voip` for VoIP), the Firebase project, or the application server key that a Web Push
    /// subscription was made with.
    public let topic: String
    /// Lower case for APNs, which accepts both cases. For Web Push the subscription, see ``WebPushSubscription``.
    @Secret public private(set) var token: String
    /// The payload profile that the device asks for; nil for that of the topic.
    public let profile: String?

    /// Accepts any values; ``fault`` tells whether the token can be pushed to.
    public init(
        provider: PushProvider, kind: PushKind, environment: PushEnvironment, topic: String, token: String,
        profile: String? = nil
    ) {
        self.provider = provider
        self.kind = kind
        self.environment = environment
        self.topic = topic
        self.token = Self.normalized(token, provider)
        self.profile = profile
    }
}

extension PushToken {
    /// The longest token of a provider, in bytes.
    public static func longest(of provider: PushProvider) -> Int {
        switch provider {
        case .apns, .fcm: longest
        case .webpush: longestSubscription
        }
    }

    /// The Web Push subscription; nil for other providers, and for a token with a ``fault``.
    public var subscription: WebPushSubscription? {
        guard provider == .webpush else { return nil }
        return try? WebPushSubscription(token)
    }

    /// A part of the token by which people tell tokens apart, safe for logs and displays: eight characters at most. For
    /// Web Push, the push service's host and the start of the browser's public key: the rest of the endpoint is a secret
    /// (RFC 8030 section 8.3).
    public var excerpt: String {
        switch provider {
        case .apns, .fcm: "\(token.prefix(8))…"
        case .webpush: subscription?.description ?? "…"
        }
    }
}

extension PushToken: Redacted {
    /// Safe for logs: an ``excerpt`` of the token.
    public var description: String {
        switch provider {
        case .apns, .fcm: "\(provider.rawValue)/\(kind.rawValue)/\(environment.rawValue) \(topic) \(excerpt)"
        case .webpush: "\(provider.rawValue) \(excerpt)"
        }
    }
}
