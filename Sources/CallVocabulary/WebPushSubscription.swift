/// A browser's push subscription (W3C Push API): the endpoint, and the keys that messages are encrypted to (RFC 8291).
///
/// A ``PushToken`` has it as `<endpoint>#p256dh=<87 characters>&auth=<22 characters>`, the keys in base64url without
/// padding, as `PushSubscription.toJSON()` gives them.
public struct WebPushSubscription: Hashable, Sendable {
    /// Why a text is no subscription.
    public enum Fault: Error, Sendable, CaseIterable {
        case tooLong, notHTTPS, host, port, path, noKeys, p256dh, auth

        /// To follow "expected". Never quotes the subscription.
        public var expected: String {
            switch self {
            case .tooLong: "a subscription of at most \(PushToken.longestSubscription) bytes"
            case .notHTTPS: "the subscription's endpoint, which begins with https://"
            case .host:
                "an endpoint with the push service's host after https://: lower-case letters, digits, '-' and '.', "
                    + "without user name and password"
            case .port: "an endpoint whose port is a number from 1 to 65535"
            case .path: "an endpoint of printable ASCII characters that a URL may have"
            case .noKeys:
                "#p256dh=…&auth=… after the endpoint, with the two keys of the subscription in this order"
            case .p256dh: "p256dh as \(WebPushSubscription.publicKeyForm)"
            case .auth: "auth as 16 bytes in base64url without padding (22 characters)"
            }
        }
    }

    /// The form of a P-256 public key in a token and topic.
    public static let publicKeyForm =
        "an uncompressed P-256 public key in base64url without padding (87 characters, 65 bytes)"

    /// Lower case: a name or an IPv4 address.
    public let host: String
    public let port: UInt16
    /// With the query. Secret: whoever knows it can push, at a service that does not know the sender's key.
    @Secret public private(set) var path: String
    /// The browser's public key: 65 bytes, an uncompressed point of P-256. Whether it is on the curve is unchecked.
    public let p256dh: [UInt8]
    /// 16 bytes, shared by browser and application server.
    @Secret public private(set) var auth: [UInt8]

    /// - Parameter token: `<endpoint>#p256dh=…&auth=…`.
    public init(_ token: String) throws(Fault) {
        guard token.utf8.count <= PushToken.longestSubscription else { throw .tooLong }
        let scheme = "https://"
        guard token.hasPrefix(scheme) else { throw .notHTTPS }
        let rest = token.dropFirst(scheme.count)
        guard let hash = rest.firstIndex(of: "#") else { throw .noKeys }
        let authorityEnd = rest[..<hash].firstIndex { $0 == "/" || $0 == "?" || $0 == "\\" } ?? hash
        (host, port) = try Self.authority(rest[..<authorityEnd])
        let path = rest[authorityEnd..<hash]
        guard path.utf8.allSatisfy(Self.isOfPath) else { throw .path }
        self.path = path.hasPrefix("/") ? String(path) : "/" + path
        let keys = rest[hash...].dropFirst().split(separator: "&", omittingEmptySubsequences: false)
        guard keys.count == 2, keys[0].hasPrefix("p256dh="), keys[1].hasPrefix("auth=") else { throw .noKeys }
        guard let p256dh = Self.publicKey(keys[0].dropFirst(7)) else { throw .p256dh }
        guard let auth = Self.bytes(base64URL: keys[1].dropFirst(5)), auth.count == 16 else { throw .auth }
        self.p256dh = p256dh
        self.auth = auth
    }

    /// `host:port`, and `host` alone for port 443.
    public var authority: String { port == 443 ? host : "\(host):\(port)" }

    /// The origin of the push service, as in a VAPID token's `aud` (RFC 8292 section 2).
    public var origin: String { "https://\(authority)" }

    /// The 65 bytes of an uncompressed point in base64url; nil for any other text. Does not check the curve.
    public static func publicKey(_ text: Substring) -> [UInt8]? {
        guard text.utf8.count == 87, let bytes = bytes(base64URL: text), bytes.first == 4 else { return nil }
        return bytes
    }

    private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// Encodes base64url without padding (RFC 4648 section 5).
    public static func base64URL(_ bytes: some Sequence<UInt8>) -> String {
        var text: [UInt8] = []
        var bits: UInt32 = 0
        var count: UInt32 = 0
        for byte in bytes {
            bits = bits << 8 | UInt32(byte)
            count += 8
            while count >= 6 {
                count -= 6
                text.append(digits[Int(bits >> count & 63)])
            }
            bits &= 1 << count - 1
        }
        if count > 0 { text.append(digits[Int(bits << (6 - count) & 63)]) }
        return String(decoding: text, as: UTF8.self)
    }

    /// Reads the host and port of an endpoint, 443 without a port; nil for anything else.
    public static func authority(_ text: String) -> (name: String, port: UInt16)? {
        guard let (name, port) = try? authority(text[...]) else { return nil }
        return (name, port)
    }

    private static func authority(_ text: Substring) throws(Fault) -> (String, UInt16) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        // No brackets: no push service has an IPv6 address for a name. No '@': browsers refuse credentials in URLs.
        let host = parts[0]
        guard !host.isEmpty, host.utf8.count <= 253, host.utf8.allSatisfy(isOfHost), !host.hasPrefix("."),
            !host.hasPrefix("-"), !host.hasSuffix("."), !host.contains("..")
        else { throw .host }
        guard parts.count == 2 else { return (String(host), 443) }
        guard !text.contains("@") else { throw .host }
        guard parts[1].utf8.count <= 5, let port = UInt16(digits: parts[1], in: 1...UInt16.max) else { throw .port }
        return (String(host), port)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte }

    private static func isOfHost(_ byte: UInt8) -> Bool {
        isDigit(byte) || UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte || byte == UInt8(ascii: "-")
            || byte == UInt8(ascii: ".")
    }

    /// Printable ASCII without the characters that a URL in canonical form never has.
    private static func isOfPath(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\\"), UInt8(ascii: "`"): false
        default: 0x21...0x7E ~= byte
        }
    }

    /// Decodes base64url without padding (RFC 4648 section 5); nil for anything else, including unused bits that are
    /// not zero, so that equal keys have equal texts.
    private static func bytes(base64URL text: Substring) -> [UInt8]? {
        var bytes: [UInt8] = []
        var bits: UInt32 = 0
        var count = 0
        for character in text.utf8 {
            guard let value = value(ofDigit: character) else { return nil }
            bits = bits << 6 | value
            count += 6
            guard count >= 8 else { continue }
            count -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
            bits &= 1 << UInt32(count) - 1
        }
        return count < 6 && bits == 0 ? bytes : nil
    }

    private static func value(ofDigit byte: UInt8) -> UInt32? {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(byte - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(byte - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "-"): 62
        case UInt8(ascii: "_"): 63
        default: nil
        }
    }
}

extension WebPushSubscription: Redacted {
    /// Safe for logs: the push service's host, and eight characters of the browser's public key.
    public var description: String { "\(host) \(Self.base64URL(p256dh.prefix(6)))…" }
}
