/// One method of the admin API. The conforming type's members are the parameters; `Response` is the result.
///
/// On the wire it is a JSON-RPC 2.0 request: `{"jsonrpc":"2.0","id":1,"method":"call.get","params":{"call_id":"…"}}`.
public protocol AdminRequest: Codable, Equatable, Sendable {
    associatedtype Response: Codable, Equatable, Sendable
    static var method: AdminMethod { get }
}

/// A list in pages. The result's `next` is the `after` of the request for the next page.
public protocol AdminListRequest: AdminRequest where Response == AdminPage<Item> {
    associatedtype Item: Codable, Equatable, Sendable
    /// The start of the page: the `next` of the previous page. Opaque; nil for the first page.
    var after: String? { get set }
}

/// A request followed by notifications of the method ``AdminMethod/notification``. They begin after its result and end
/// with the connection or with ``Unsubscribe``.
public protocol AdminSubscription: AdminRequest where Response == SubscriptionStarted {
    associatedtype Notification: Codable, Equatable, Sendable
}

/// One page of a list.
public struct AdminPage<Item: Codable & Equatable & Sendable>: Codable, Equatable, Sendable {
    public var items: [Item]
    /// nil on the last page.
    public var next: String?

    public init(items: [Item], next: String? = nil) {
        self.items = items
        self.next = next
    }
}

/// The result of a change. The change is durable.
public struct Done: Codable, Equatable, Sendable {
    public init() {}
}

/// The result of a subscription.
public struct SubscriptionStarted: Codable, Equatable, Sendable {
    /// The number that each of its notifications carries. Counts from 1 on each connection.
    public var subscription: Int

    public init(subscription: Int) { self.subscription = subscription }
}

/// Ends a subscription of this connection. Succeeds for an unknown subscription.
public struct Unsubscribe: AdminRequest {
    public typealias Response = Done
    public static let method = AdminMethod.unsubscribe
    public var subscription: Int

    public init(subscription: Int) { self.subscription = subscription }
}

/// The methods of the admin API, by their wire names.
public enum AdminMethod: String, Codable, Sendable, CaseIterable {
    case callList = "call.list"
    case callGet = "call.get"
    case callEnd = "call.end"
    case callSubscribe = "call.subscribe"
    case sessionList = "session.list"
    case sessionDrop = "session.drop"
    case deviceList = "device.list"
    case deviceGet = "device.get"
    case deviceResume = "device.resume"
    case deviceDelete = "device.delete"
    case pushList = "push.list"
    case pushGet = "push.get"
    case pushAudit = "push.audit"
    case userGet = "user.get"
    case userSet = "user.set"
    case userBlock = "user.block"
    case userUnblock = "user.unblock"
    case userForward = "user.forward"
    case userRevoke = "user.revoke"
    case groupList = "group.list"
    case groupGet = "group.get"
    case groupSet = "group.set"
    case groupDelete = "group.delete"
    case aliasList = "alias.list"
    case aliasSet = "alias.set"
    case aliasDelete = "alias.delete"
    case webhookList = "webhook.list"
    case webhookPause = "webhook.pause"
    case webhookResume = "webhook.resume"
    case webhookReplay = "webhook.replay"
    case webhookTest = "webhook.test"
    case statsGet = "stats.get"
    case statsSubscribe = "stats.subscribe"
    case serverInfo = "server.info"
    case serverDrain = "server.drain"
    case serverStop = "server.stop"
    case logSet = "log.set"
    case unsubscribe

    /// The notification method of a subscription; nil for all other methods.
    public var notification: String? {
        switch self {
        case .callSubscribe: "call.changed"
        case .statsSubscribe: "stats.changed"
        case .callList, .callGet, .callEnd, .sessionList, .sessionDrop, .deviceList, .deviceGet, .deviceResume,
            .deviceDelete, .pushList, .pushGet, .pushAudit, .userGet, .userSet, .userBlock, .userUnblock, .userForward,
            .userRevoke, .groupList, .groupGet, .groupSet, .groupDelete, .aliasList, .aliasSet, .aliasDelete,
            .webhookList, .webhookPause, .webhookResume, .webhookReplay, .webhookTest, .statsGet, .serverInfo,
            .serverDrain, .serverStop, .logSet,
            .unsubscribe:
            nil
        }
    }
}
