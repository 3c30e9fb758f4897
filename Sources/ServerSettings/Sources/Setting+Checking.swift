import Configuration
import EventLoop

extension Setting {
    /// What the setting takes: the end of "give …".
    var wanted: String {
        switch kind {
        case .integer(let range):
            "give \(range.lowerBound) to \(range.upperBound)\(unit.map { " \($0)" } ?? "")"
        case .flag: "give true or false"
        case .text(let longest): "give 1 to \(longest) bytes of text"
        case .choice(let choices): "give one of \(choices.joined(separator: ", "))"
        case .address: "give a numeric address or localhost, and a port, such as 127.0.0.1:7351 or [::1]:7351"
        case .addressOrOff:
            "give a numeric address or localhost, and a port, such as 127.0.0.1:7352 or [::1]:7352, or off"
        case .path: "give one path"
        case .paths: "give paths"
        }
    }

    /// Why a value of the right type is invalid; nil when it is valid.
    func objection(to value: ConfigContent) -> String? {
        switch (kind, value) {
        case (.integer(let range), .int(let number)):
            range.contains(number) ? nil : "\(number) is out of range"
        case (.text(let longest), .string(let text)):
            text.isEmpty || text.utf8.count > longest ? "the text has \(text.utf8.count) bytes" : nil
        case (.choice(let choices), .string(let text)):
            choices.contains(text) ? nil : "\(ShownText.quoted(text)) is not known"
        case (.address, .string(let text)):
            SocketAddress(text: text) == nil ? "\(ShownText.quoted(text)) is no address with a port" : nil
        case (.addressOrOff, .string(let text)):
            text != "off" && SocketAddress(text: text) == nil
                ? "\(ShownText.quoted(text)) is neither an address with a port nor off" : nil
        case (.path, .string(let text)): text.isEmpty ? "the path is empty" : nil
        case (.paths, .stringArray(let paths)):
            paths.isEmpty || paths.contains("") ? "a path is empty" : nil
        default: nil
        }
    }

    /// Why a text is not of the setting's type.
    func mismatch(_ text: String) -> String {
        let shown = isSecret ? "the value" : ShownText.quoted(text)
        return switch kind {
        case .integer: "\(shown) is not a whole number"
        case .flag: "\(shown) is neither true nor false"
        case .text, .choice, .address, .addressOrOff, .path, .paths: "\(shown) is of the wrong type"
        }
    }

    /// Whether a value that is no secret may have one: in place of the path of its file, or in front of a host.
    func hasSecret(in text: String) -> Bool {
        switch kind {
        case .path, .paths: ShownText.mayHaveSecret(text)
        case .integer, .flag, .text, .choice, .address, .addressOrOff:
            ShownText.hasPassword(text) || ShownText.isKey(text)
        }
    }
}

/// What faults show of texts that are not what their setting takes. Such a text may be a secret in place of its file, or
/// a URL with a password or a key.
package enum ShownText {
    private static let longestWord = 31

    /// The text in quotation marks, or `the value` if it may have a secret.
    package static func quoted(_ text: String) -> String { mayHaveSecret(text) ? "the value" : "'\(text)'" }

    /// Whether the text has signs of a secret: of PEM, JSON, Base64, a password before `@`, a query, or a long word of
    /// letters and digits.
    package static func mayHaveSecret(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        let words = bytes.split { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"):
                false
            default: true
            }
        }
        return hasPassword(text) || isKey(text) || bytes.contains { $0 < 0x20 || "{?=".utf8.contains($0) }
            || words.contains { $0.count > longestWord }
    }

    /// Whether the text has the signs of PEM, of a webhook's secret, or of a token of a backend or of a client.
    static func isKey(_ text: String) -> Bool {
        ["-----", "whsec_", "whsk_", "rvb_", "eyJ"].contains { text.contains($0) }
    }

    /// Whether the text has a password before `@`, or is a URL with a user there, whose name may be a key.
    static func hasPassword(_ text: String) -> Bool {
        guard let at = text.utf8.lastIndex(of: UInt8(ascii: "@")) else { return false }
        let user = text[..<at]
        return user.utf8.firstRange(of: "://".utf8) != nil
            || user.utf8.contains(UInt8(ascii: ":")) && !user.hasPrefix("mailto:")
    }
}

extension SocketAddress {
    /// `HOST:PORT`, with an IPv6 address in brackets.
    init?(text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            return nil
        }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        self.init(host: String(host), port: port)
    }
}
