/// What an installation of an app runs on.
public enum Platform: String, Sendable, CaseIterable {
    case ios, android, web, desktop, cli
}

public enum PushProvider: String, Sendable, CaseIterable {
    case apns, fcm
}

public enum PushKind: String, Sendable, CaseIterable {
    case voip, alert, data
}

/// Which of a provider's two worlds a token belongs to. It is a property of the token, not of the server.
public enum PushEnvironment: String, Sendable, CaseIterable {
    case production, sandbox
}

/// An address that a provider delivers to.
public struct PushToken: Hashable, Sendable {
    /// The longest token, in bytes. Apple calls the length opaque; this only bounds what is stored.
    public static let longest = 512

    public let provider: PushProvider
    public let kind: PushKind
    public let environment: PushEnvironment
    /// The APNs topic (`<bundle>.voip` for VoIP), or the Firebase project.
    public let topic: String
    /// Of APNs in lower case, as the provider takes either.
    @Secret public private(set) var token: String

    /// Takes whatever it is given; ``fault`` says whether it can be pushed to.
    public init(provider: PushProvider, kind: PushKind, environment: PushEnvironment, topic: String, token: String) {
        self.provider = provider
        self.kind = kind
        self.environment = environment
        self.topic = topic
        self.token = Self.normalized(token, provider)
    }
}

extension PushToken: Redacted {
    /// Safe for logs: the first eight characters of the token at most.
    public var description: String {
        "\(provider.rawValue)/\(kind.rawValue)/\(environment.rawValue) \(topic) \(token.prefix(8))…"
    }
}
