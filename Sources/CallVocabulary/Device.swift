/// The platform of an app installation.
public enum Platform: String, Sendable, CaseIterable {
    case ios, android, web, desktop, cli
}

public enum PushProvider: String, Sendable, CaseIterable {
    case apns, fcm
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
    /// The longest token, in bytes. Apple calls the length opaque; this only limits storage.
    public static let longest = 512

    public let provider: PushProvider
    public let kind: PushKind
    public let environment: PushEnvironment
    /// The APNs topic (`<bundle>.voip` for VoIP), or the Firebase project.
    public let topic: String
    /// Lower case for APNs, which accepts both cases.
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

extension PushToken: Redacted {
    /// Safe for logs: the first eight characters of the token at most.
    public var description: String {
        "\(provider.rawValue)/\(kind.rawValue)/\(environment.rawValue) \(topic) \(token.prefix(8))…"
    }
}
