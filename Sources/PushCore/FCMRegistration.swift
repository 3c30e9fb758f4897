import CallVocabulary
import WireJSON

/// One request to FCM's registration API, or a message to a topic.
public struct FCMRegistration: Equatable, Sendable {
    /// FCM's limit for one import of APNs tokens.
    public static let longestImport = 100
    /// FCM's limit for one batch of subscriptions.
    public static let longestSubscription = 1000
    /// FCM's limit for a message to a topic, in bytes.
    public static let longestNotice = 2048

    /// Why a request cannot be built.
    public enum Fault: String, Error, Sendable, CaseIterable {
        case topicNotPlain = "a topic's name has letters, digits and -_.~% only"
        case projectNotPlain = "this is not a Firebase project id"
        case noTokens = "no token is given"
        case tooManyTokens = "too many tokens for one request"
        case noticeTooLong = "title and text are longer than a topic message may be (2048 bytes)"
    }

    /// Whether it goes to the send API, not to the registration API.
    public let isNotice: Bool
    public let path: String
    public let body: [UInt8]

    /// Maps APNs tokens of one app to FCM tokens.
    public init(importing tokens: [String], application: String, isSandbox: Bool) throws(Fault) {
        try Self.check(tokens, atMost: Self.longestImport)
        isNotice = false
        path = "/iid/v1:batchImport"
        body = JSONWriter.bytes { json in
            json.object { json in
                json.field("application", application)
                json.field("sandbox", isSandbox)
                json.field("apns_tokens") { json in json.array { for token in tokens { $0.string(token) } } }
            }
        }
    }

    /// Subscribes FCM tokens to a topic, or unsubscribes them.
    public init(_ tokens: [String], isSubscribed: Bool, topic: String) throws(Fault) {
        try Self.check(tokens, atMost: Self.longestSubscription)
        guard Self.isTopic(topic) else { throw .topicNotPlain }
        isNotice = false
        path = isSubscribed ? "/iid/v1:batchAdd" : "/iid/v1:batchRemove"
        body = JSONWriter.bytes { json in
            json.object { json in
                json.field("to", "/topics/\(topic)")
                json.field("registration_tokens") { json in json.array { for token in tokens { $0.string(token) } } }
            }
        }
    }

    /// A notification to all subscribers of a topic.
    public init(notice text: String, title: String, topic: String, project: String) throws(Fault) {
        guard PushRequest.isProject(project) else { throw .projectNotPlain }
        guard Self.isTopic(topic) else { throw .topicNotPlain }
        let body = JSONWriter.bytes { json in
            json.object { json in
                json.field("message") { json in
                    json.object { json in
                        json.field("topic", topic)
                        json.field("notification") { json in
                            json.object { json in
                                json.field("title", title)
                                json.field("body", text)
                            }
                        }
                        json.field("android") { $0.object { $0.field("priority", "NORMAL") } }
                    }
                }
            }
        }
        guard body.count <= Self.longestNotice else { throw .noticeTooLong }
        isNotice = true
        path = PushRequest.sendPath(project: project)
        self.body = body
    }

    /// The header fields to send.
    public func fields(accessToken: String) -> [PushRequest.Field] {
        var fields = [
            PushRequest.Field("authorization", "Bearer \(accessToken)"),
            PushRequest.Field("content-type", "application/json"),
        ]
        // Otherwise the registration API takes the token for a legacy server key.
        if !isNotice { fields.append(PushRequest.Field("access_token_auth", "true")) }
        return fields
    }

    private static func check(_ tokens: [String], atMost limit: Int) throws(Fault) {
        guard !tokens.isEmpty else { throw .noTokens }
        guard tokens.count <= limit else { throw .tooManyTokens }
    }

    private static func isTopic(_ text: String) -> Bool {
        let allowed = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~%".utf8)
        return 1...900 ~= text.utf8.count && text.utf8.allSatisfy(allowed.contains)
    }
}
