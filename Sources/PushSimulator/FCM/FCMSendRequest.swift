import CallVocabulary

/// The body of `messages:send`, parsed and checked against the API's schema. Pure.
struct FCMSendRequest: Equatable {
    enum Target: Equatable {
        case token(String)
        case topic(String)
        case condition(TopicCondition)
    }

    struct Notification: Equatable {
        var title: String?
        var body: String?
        /// `android.notification.tag`: a newer notification with the same tag replaces an older one.
        var tag: String?
    }

    var target: Target
    var data: [String: String] = [:]
    var notification: Notification?
    var isHigh = false
    /// How long the message waits for an unreachable phone.
    var timeToLive = Self.longestTimeToLive
    var collapseKey: String?
    /// The payload for APNs, for tokens mapped from APNs.
    var apnsPayload: JSONValue?
    /// `apns-priority`, `apns-collapse-id` and other headers, for those tokens.
    var apnsHeaders: [String: String] = [:]
    var isForValidationOnly = false

    static let longestTimeToLive = Duration.seconds(28 * 86_400)
    private static let messageLimit = 4096
    private static let topicLimit = 2048

    private static let requestFields: Set = ["message", "validate_only"]
    private static let messageFields: Set = [
        "name", "data", "notification", "android", "webpush", "apns", "fcm_options", "token", "topic", "condition",
    ]
    private static let androidFields: Set = [
        "collapse_key", "priority", "ttl", "restricted_package_name", "data", "notification", "fcm_options",
        "direct_boot_ok", "bandwidth_constrained_ok", "restricted_satellite_ok",
    ]

    /// - Throws: FCM's error, always 400.
    init(body: [UInt8]) throws(GoogleError) {
        guard let json = PhoneLinkMessages.decode(JSONValue.self, from: body), case .object = json else {
            throw GoogleError(.invalidArgument, message: "Invalid JSON payload received. Unexpected token.")
        }
        let request = try Self.fields(json, of: nil, known: Self.requestFields)
        guard let content = request["message"] else {
            throw .field("message", "Message is missing.")
        }
        let message = try Self.fields(content, of: "message", known: Self.messageFields)
        target = try Self.target(message)
        data = try Self.texts(message["data"], "message.data")
        notification = try Self.notification(message["notification"], "message.notification")
        isForValidationOnly = request["validate_only"] == .bool(true)
        if let android = message["android"] { try readAndroid(android) }
        if let apns = message["apns"] {
            let fields = try Self.fields(apns, of: "message.apns", known: ["headers", "payload", "fcm_options"])
            apnsPayload = fields["payload"]
            apnsHeaders = try Self.texts(fields["headers"], "message.apns.headers")
        }
        try checkSize()
    }

    private mutating func readAndroid(_ json: JSONValue) throws(GoogleError) {
        let android = try Self.fields(json, of: "message.android", known: Self.androidFields)
        switch android["priority"]?.text?.uppercased() {
        case "HIGH": isHigh = true
        case "NORMAL": isHigh = false
        case nil where android["priority"] == nil: break
        default: throw Self.invalid("message.android.priority", "AndroidMessagePriority", android["priority"])
        }
        if let ttl = android["ttl"] { timeToLive = try Self.timeToLive(ttl) }
        if let key = android["collapse_key"] {
            guard let text = key.text else { throw Self.invalid("message.android.collapse_key", "TYPE_STRING", key) }
            collapseKey = text
        }
        let own = try Self.texts(android["data"], "message.android.data")
        if !own.isEmpty { data = own }
        if let shown = try Self.notification(android["notification"], "message.android.notification") {
            notification = Notification(
                title: shown.title ?? notification?.title, body: shown.body ?? notification?.body, tag: shown.tag)
        }
    }

    private static func target(_ message: [String: JSONValue]) throws(GoogleError) -> Target {
        let named = ["token", "topic", "condition"].filter { message[$0] != nil && message[$0] != .null }
        guard named.count < 2 else {
            throw .field("message", "Invalid value at 'message' (oneof), oneof field 'target' is already set.")
        }
        guard let name = named.first, let text = message[name]?.text, !text.isEmpty else {
            throw .field("message", "Recipient of the message is not set.")
        }
        switch name {
        case "token": return .token(text)
        case "topic":
            guard let topic = topicName(text) else { throw .field("message.topic", "Invalid topic name") }
            return .topic(topic)
        default:
            guard let condition = TopicCondition(text) else {
                throw .field("message.condition", "Invalid condition expression provided.")
            }
            return .condition(condition)
        }
    }

    /// The topic's name without `/topics/`; nil for an invalid one.
    static func topicName(_ text: some StringProtocol) -> String? {
        let prefix = "/topics/"
        let name = text.hasPrefix(prefix) ? String(text.dropFirst(prefix.count)) : String(text)
        guard (1...900).contains(name.utf8.count) else { return nil }
        let allowed = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~%".utf8)
        return name.utf8.allSatisfy(allowed.contains) ? name : nil
    }

    /// The members of an object by their names in snake case. Google accepts both spellings, and no unknown names.
    private static func fields(
        _ json: JSONValue, of parent: String?, known: Set<String>
    ) throws(GoogleError) -> [String: JSONValue] {
        let place = parent.map { " at '\($0)'" } ?? ""
        guard let members = json.members else { throw invalid(parent ?? "", "TYPE_MESSAGE", json) }
        var found: [String: JSONValue] = [:]
        for (name, value) in members.sorted(by: { $0.key < $1.key }) {
            let field = name.reduce(into: "") { $0 += $1.isUppercase ? "_" + $1.lowercased() : String($1) }
            guard known.contains(field) else {
                throw .field(
                    parent ?? "", "Invalid JSON payload received. Unknown name \"\(name)\"\(place): Cannot find field.")
            }
            found[field] = value
        }
        return found
    }

    /// A map of strings without the keys that FCM reserves.
    private static func texts(_ json: JSONValue?, _ field: String) throws(GoogleError) -> [String: String] {
        guard let json else { return [:] }
        guard let members = json.members else { throw invalid(field, "TYPE_MESSAGE", json) }
        var texts: [String: String] = [:]
        for (index, (key, value)) in members.sorted(by: { $0.key < $1.key }).enumerated() {
            guard let text = value.text else { throw invalid("\(field)[\(index)].value", "TYPE_STRING", value) }
            let isReserved =
                key == "from" || key == "message_type" || key.hasPrefix("google.") || key.hasPrefix("gcm.")
            guard !isReserved else { throw .field(field, "Invalid data payload key: \(key)") }
            texts[key] = text
        }
        return texts
    }

    private static func notification(_ json: JSONValue?, _ field: String) throws(GoogleError) -> Notification? {
        guard let json else { return nil }
        guard let members = json.members else { throw invalid(field, "TYPE_MESSAGE", json) }
        for name in ["title", "body", "tag"] {
            if let value = members[name], value.text == nil { throw invalid("\(field).\(name)", "TYPE_STRING", value) }
        }
        return Notification(title: members["title"]?.text, body: members["body"]?.text, tag: members["tag"]?.text)
    }

    /// `3.5s`: seconds with up to nine fractional digits, at most four weeks.
    private static func timeToLive(_ json: JSONValue) throws(GoogleError) -> Duration {
        let bad = invalid("message.android.ttl", "type.googleapis.com/google.protobuf.Duration", json)
        guard let text = json.text, text.last == "s" else { throw bad }
        let parts = text.dropLast().split(separator: ".", omittingEmptySubsequences: false)
        let isNumber = parts.allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy { 48...57 ~= $0 } }
        guard isNumber, (1...2).contains(parts.count), let seconds = Int64(parts[0]), seconds < 1 << 40 else {
            throw bad
        }
        let digits = parts.count == 2 ? String(parts[1]) : "0"
        // Nine digits fit into an Int64.
        guard digits.count <= 9, let fraction = Int64(digits.padding(to: 9)) else { throw bad }
        let duration = Duration.seconds(seconds) + .nanoseconds(fraction)
        guard duration <= longestTimeToLive else {
            throw .field("message.android.ttl", "Invalid value for ttl: it must be at most four weeks.")
        }
        return duration
    }

    private static func invalid(_ field: String, _ type: String, _ value: JSONValue?) -> GoogleError {
        let written = value.map { String(decoding: $0.written, as: UTF8.self) } ?? ""
        return .field(field, "Invalid value at '\(field)' (\(type)), \(written)")
    }

    private func checkSize() throws(GoogleError) {
        var size = data.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
        size += (notification?.title?.utf8.count ?? 0) + (notification?.body?.utf8.count ?? 0)
        let limit: Int
        switch target {
        case .token: limit = Self.messageLimit
        case .topic, .condition: limit = Self.topicLimit
        }
        guard size <= limit else {
            throw GoogleError(.invalidArgument, message: "Android message is too big")
        }
    }
}

extension String {
    fileprivate func padding(to count: Int) -> String {
        self + String(repeating: "0", count: max(0, count - self.count))
    }
}
