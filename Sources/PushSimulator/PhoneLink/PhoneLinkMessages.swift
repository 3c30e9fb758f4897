import FoundationEssentials

/// The bodies of the phones' link and of the admin calls, as both sides write and read them.
enum PhoneLinkMessages {
    static let prefix = "/simulator/v1/"

    /// `POST /simulator/v1/phones`
    struct Registration: Codable {
        var topic: String
        /// That of the port used, if nil.
        var environment: String?
        var name: String?
        /// `apns`, if nil, or `fcm`.
        var provider: String?
    }

    /// Its answer.
    struct Registered: Codable {
        var token: String
    }

    /// `POST /simulator/v1/phones/{token}/reported`: one of the two.
    struct Report: Codable {
        /// The `apns-id`.
        var pushID: String?
        /// The call's, as in the payload's `uuid`.
        var uuid: String?

        private enum CodingKeys: String, CodingKey {
            case pushID = "push_id"
            case uuid
        }
    }

    /// Its answer.
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
        /// `apns`, if nil, or `fcm`.
        var provider: String?
        /// That of the port used, if nil.
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

    /// `GET /simulator/v1/faults`
    struct Faults: Codable {
        var faults: [PushFaultOrder]
    }

    /// An answer that is not 2xx.
    struct Failure: Codable {
        var error: String
    }

    /// One line of the stream a phone is attached by. Which one it is, `attached`, `headers` or `killed` tells.
    /// A line with `headers` has the payload as its last member, `push`, byte for byte but for line breaks.
    struct Line: Codable {
        /// The first line: the token.
        var attached: String?
        /// A push: its APNs headers.
        var headers: [String: String]?
        /// With `headers`: whether iOS wants the push reported.
        var mustReport: Bool?
        /// With `headers`: when the simulator sent the line, in microseconds since the epoch.
        var deliveredAt: Int64?
        /// The app was ended: why.
        var killed: String?
        /// With `killed`: the pushes it failed to report.
        var unreported: [String]?
        /// With `killed`: no more VoIP pushes will come.
        var voipBlocked: Bool?
        /// The last line: why the simulator ends the link.
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

    /// A push as a line, its payload in it as it is: a line break between JSON tokens is the only thing to be changed.
    static func pushLine(_ line: Line, payload: [UInt8]) -> [UInt8] {
        var bytes = encode(line)
        bytes.removeLast()
        bytes += payloadKey
        bytes += payload.lazy.map { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") ? UInt8(ascii: " ") : $0 }
        bytes.append(UInt8(ascii: "}"))
        return bytes
    }

    /// Takes a line apart; the payload is empty but for a push.
    static func parse(line bytes: ArraySlice<UInt8>) -> (line: Line, payload: [UInt8])? {
        // A quotation mark within a JSON string is escaped, so the key's first occurrence is the key itself.
        guard let key = bytes.firstRange(of: payloadKey), let end = bytes.lastIndex(of: UInt8(ascii: "}")) else {
            return decode(Line.self, from: bytes).map { ($0, []) }
        }
        guard key.upperBound <= end, let line = decode(Line.self, from: bytes[..<key.lowerBound] + [UInt8(ascii: "}")])
        else { return nil }
        return (line, Array(bytes[key.upperBound..<end]))
    }
}
