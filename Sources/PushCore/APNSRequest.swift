import CallVocabulary

/// One push as APNs is asked to deliver it: `POST /3/device/<token>`.
public struct APNSRequest: Equatable, Sendable {
    /// A header field, in lower case as HTTP/2 has it.
    public struct Field: Equatable, Sendable {
        public let name: String
        public let value: String
        /// False for what differs with every push: in HPACK's table it would only push out what does not.
        public let isIndexed: Bool

        init(_ name: String, _ value: String, isIndexed: Bool = true) {
            self.name = name
            self.value = value
            self.isIndexed = isIndexed
        }
    }

    /// Why a push can never be sent.
    public enum Fault: String, Error, Sendable, CaseIterable {
        case tokenNotHexadecimal = "the device token is not hexadecimal"
        case topicNotPrintable = "the topic is not a bundle id"
        case payloadTooLarge = "the payload is too large without name and custom"
    }

    public let id: PushID
    public let path: String
    public let topic: String
    public let payload: APNSPayload
    public let expiresAt: Instant

    /// - Throws: ``Fault`` for what the device registered wrongly: it would end up in the path and the header.
    public init(voip order: PushOrder, wakeToken: String) throws(Fault) {
        let token = order.token.token
        guard !token.isEmpty, token.utf8.allSatisfy(Self.isHexadecimal) else { throw .tokenNotHexadecimal }
        let topic = order.token.topic
        guard !topic.isEmpty, topic.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else { throw .topicNotPrintable }
        guard let payload = APNSPayload(voip: order, wakeToken: wakeToken) else { throw .payloadTooLarge }
        id = order.id
        path = "/3/device/\(token)"
        self.topic = topic
        self.payload = payload
        expiresAt = order.expiresAt
    }

    /// The header fields to send at `now`, which is before ``expiresAt``.
    public func fields(providerToken: String, now: Instant) -> [Field] {
        [
            Field("authorization", "bearer \(providerToken)"),
            Field("apns-topic", topic),
            Field("apns-push-type", "voip"),
            Field("apns-priority", "10"),
            Field("apns-expiration", String(expiration(now: now)), isIndexed: false),
            Field("apns-id", id.description, isIndexed: false),
        ]
    }

    /// Whole seconds since the epoch up to which APNs may try; 0, one try at once, when the ring ends within a second.
    func expiration(now: Instant) -> Int64 {
        expiresAt - now < .seconds(1) ? 0 : expiresAt.wholeSeconds
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }
}
