import CallVocabulary

/// The endpoints that get events, by name.
public struct ListWebhooks: AdminRequest {
    public typealias Response = WebhooksView
    public static let method = AdminMethod.webhookList

    public init() {}
}

/// Sends no events to the endpoint until ``ResumeWebhook``. They wait in the store.
public struct PauseWebhook: AdminRequest {
    public typealias Response = Done
    public static let method = AdminMethod.webhookPause
    public var name: String

    public init(_ name: String) { self.name = name }
}

/// Sends events again to an endpoint that is paused or disabled, and makes all waiting attempts due now.
public struct ResumeWebhook: AdminRequest {
    public typealias Response = Done
    public static let method = AdminMethod.webhookResume
    public var name: String

    public init(_ name: String) { self.name = name }
}

/// Sends the stored events from a time on again, in order.
public struct ReplayWebhook: AdminRequest {
    public typealias Response = Done
    public static let method = AdminMethod.webhookReplay
    public var name: String
    /// Wall time, in milliseconds since 1970.
    public var sinceMilliseconds: Int64

    public init(_ name: String, since: Instant) {
        self.name = name
        sinceMilliseconds = since.milliseconds
    }

    enum CodingKeys: String, CodingKey {
        case name
        case sinceMilliseconds = "since_ms"
    }
}

/// Sends a message of the type `webhook.test`, which is no event, and waits for the answer: 15 s at most.
public struct TestWebhook: AdminRequest {
    public typealias Response = WebhookTestView
    public static let method = AdminMethod.webhookTest
    public var name: String

    public init(_ name: String) { self.name = name }
}
