import FoundationEssentials

/// The JSON bodies of the phones' link and of the admin calls.
enum PhoneLinkMessages {
    static let prefix = "/simulator/v1/"

    /// `POST /simulator/v1/phones`
    struct Registration: Codable {
        var topic: String
        /// nil means the environment of the port.
        var environment: String?
        var name: String?
        /// `apns`, `fcm` or `webpush`; nil means `apns`.
        var provider: String?
    }

    /// The response.
    struct Registered: Codable {
        var token: String
    }

    /// `POST /simulator/v1/phones/{token}/reported`. One of the two is set.
    struct Report: Codable {
        var pushID: String?
        /// The call's UUID, as in the payload's `uuid`.
        var uuid: String?
        /// The notification that a service worker showed.
        var title: String?
        var body: String?
        var tag: String?

        private enum CodingKeys: String, CodingKey {
            case pushID = "push_id"
            case uuid, title, body, tag
        }
    }

    /// The response.
    struct Verdict: Codable {
        var verdict: String
    }

    /// `POST /simulator/v1/phones/{token}/state`
    struct StateChange: Codable {
        /// ``PhoneLink/PhoneState``
        var state: String
    }

    /// `POST /simulator/v1/goaway`
    struct GoAway: Codable {
        /// `apns`, `fcm` or `webpush`; nil means the service of the port.
        var provider: String?
        /// nil means the environment of the port.
        var environment: String?
        var reason: String?
        var text: String?
        var doubled: Bool?
        var lastStream: String?

        private enum CodingKeys: String, CodingKey {
            case provider, environment, reason, text, doubled
            case lastStream = "last_stream"
        }
    }

    /// `GET /simulator/v1/phones/{token}/subscription`: keys and bodies in base64url.
    struct Subscription: Codable {
        struct Keys: Codable {
            var p256dh: String
            var auth: String
        }

        struct Push: Codable {
            var id: String
            var ttl: Int64
            var urgency: String
            var topic: String?
            /// The sender's credentials.
            var authorization: String
            /// As it came: encrypted.
            var body: String
        }

        var endpoint: String
        var keys: Keys
        /// The browser's, 32 bytes.
        var privateKey: String
        /// The newest accepted pushes, the oldest first.
        var pushes: [Push]

        private enum CodingKeys: String, CodingKey {
            case endpoint, keys
            case privateKey = "private_key"
            case pushes
        }
    }

    /// `GET /simulator/v1/faults`
    struct Faults: Codable {
        var faults: [PushFaultOrder]
    }

    /// The body of a response that is not 2xx.
    struct Failure: Codable {
        var error: String
    }

    /// One line of the stream to an attached phone. `attached`, `headers` or `killed` determines its kind. A line with
    /// `headers` ends with the payload as its last member, `push`, byte for byte but without line breaks.
    struct Line: Codable {
        /// First line: the token.
        var attached: String?
        /// Push: its headers, see ``PhoneLink/Push/headers``.
        var headers: [String: String]?
        /// Push: whether iOS requires a report, or a browser a notification.
        var mustReport: Bool?
        /// Push: when the simulator sent the line, in microseconds since the epoch.
        var deliveredAt: Int64?
        /// The app was killed: the reason.
        var killed: String?
        /// With `killed`: the unreported pushes.
        var unreported: [String]?
        /// With `killed`: whether VoIP pushes are blocked.
        var voipBlocked: Bool?
        /// Last line: why the simulator ended the attachment.
        var detached: String?

        private enum CodingKeys: String, CodingKey {
            case attached, headers
            case mustReport = "must_report"
            case deliveredAt = "delivered_us"
            case killed, unreported
            case voipBlocked = "voip_blocked"
            case detached
        }
    }

    static func encode(_ value: some Encodable) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
        guard let data = try? encoder.encode(value) else {
            preconditionFailure("strings, numbers and dictionaries of them can be encoded")
        }
        return Array(data)
    }

    static func decode<Value: Decodable>(_: Value.Type, from bytes: some Collection<UInt8>) -> Value? {
        try? JSONDecoder().decode(Value.self, from: Data(bytes))
    }

    private static let payloadKey = Array(",\"push\":".utf8)

    /// A push as a line. Only line breaks between the payload's JSON tokens are removed.
    static func pushLine(_ line: Line, payload: [UInt8]) -> [UInt8] {
        var bytes = encode(line)
        bytes.removeLast()
        bytes += payloadKey
        bytes += payload.lazy.map { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") ? UInt8(ascii: " ") : $0 }
        bytes.append(UInt8(ascii: "}"))
        return bytes
    }

    /// Parses a line; the payload is empty except for a push.
    static func parse(line bytes: ArraySlice<UInt8>) -> (line: Line, payload: [UInt8])? {
        // Quotation marks in JSON strings are escaped, so the first occurrence of the key is the key itself.
        guard let key = bytes.firstRange(of: payloadKey), let end = bytes.lastIndex(of: UInt8(ascii: "}")) else {
            return decode(Line.self, from: bytes).map { ($0, []) }
        }
        guard key.upperBound <= end, let line = decode(Line.self, from: bytes[..<key.lowerBound] + [UInt8(ascii: "}")])
        else { return nil }
        return (line, Array(bytes[key.upperBound..<end]))
    }
}
