/// A provider's request, parsed but not checked.
public struct APNSRequest: Sendable {
    public var method: String
    public var path: String
    public var authorization: String?
    public var id: String?
    public var expiration: String?
    public var priority: String?
    public var topic: String?
    public var collapseID: String?
    public var pushType: String?
    /// Whether one of the headers above is repeated; the first value is kept.
    public var hasDuplicateHeaders = false
    public var payload: [UInt8]

    public init(method: String, path: String, payload: [UInt8]) {
        self.method = method
        self.path = path
        self.payload = payload
    }

    /// Adds a header, in the order of arrival. Names are in lower case, as HTTP/2 demands.
    public mutating func add(header name: String, value: String) {
        switch name {
        case "authorization": keep(value, in: \.authorization)
        case "apns-id": keep(value, in: \.id)
        case "apns-expiration": keep(value, in: \.expiration)
        case "apns-priority": keep(value, in: \.priority)
        case "apns-topic": keep(value, in: \.topic)
        case "apns-collapse-id": keep(value, in: \.collapseID)
        case "apns-push-type": keep(value, in: \.pushType)
        default: break  // APNs ignores other headers.
        }
    }

    private mutating func keep(_ value: String, in field: WritableKeyPath<Self, String?>) {
        if self[keyPath: field] == nil { self[keyPath: field] = value } else { hasDuplicateHeaders = true }
    }

    /// The provider token in `authorization: bearer <token>`; nil without one.
    public var providerToken: Substring? {
        guard let authorization, authorization.count > 7, authorization.prefix(7).lowercased() == "bearer " else {
            return nil
        }
        return authorization.dropFirst(7)
    }

    /// The device token in the path; nil for any other path.
    public var deviceToken: Substring? {
        let prefix = "/3/device/"
        if path.hasPrefix(prefix) { return path.dropFirst(prefix.count) }
        return path == prefix.dropLast() ? "" : nil
    }
}
