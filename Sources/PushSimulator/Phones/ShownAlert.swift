import FoundationEssentials

public struct ShownAlert: Codable, Equatable, Sendable {
    /// The `apns-id`, FCM's message id, or the id of a push to a browser.
    public var id: String
    /// A newer alert with the same collapse id replaces this one. For a browser the `tag` of the notification.
    public var collapseID: String?
    public var title: String?
    public var body: String?

    private enum CodingKeys: String, CodingKey {
        case id
        case collapseID = "collapse_id"
        case title, body
    }

    public init(id: String, collapseID: String? = nil, title: String? = nil, body: String? = nil) {
        self.id = id
        self.collapseID = collapseID
        self.title = title
        self.body = body
    }

    /// Reads `aps.alert`, an object or a string, or FCM's `notification`.
    init(id: String, collapseID: String?, payload: [UInt8]) {
        self.init(id: id, collapseID: collapseID)
        let content = PhoneLinkMessages.decode(JSONValue.self, from: payload)?.members
        let alert = content?["aps"]?.members?["alert"] ?? content?["notification"]
        title = alert?.members?["title"]?.text
        body = alert?.members?["body"]?.text ?? alert?.text
    }
}

/// The newest alerts of a phone, up to a limit.
struct AlertScreen: Equatable, Sendable {
    private static let most = 32

    private(set) var alerts: [ShownAlert] = []

    mutating func show(_ alert: ShownAlert) {
        if let id = alert.collapseID { alerts.removeAll { $0.collapseID == id } }
        if alerts.count == Self.most { alerts.removeFirst() }
        alerts.append(alert)
    }
}
