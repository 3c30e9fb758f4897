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
        case .address: "give a numeric address and a port, such as 127.0.0.1:7351 or [::1]:7351"
        case .addressOrOff: "give a numeric address and a port, such as 127.0.0.1:7352 or [::1]:7352, or off"
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
            choices.contains(text) ? nil : "'\(text)' is not known"
        case (.address, .string(let text)):
            SocketAddress(text: text) == nil ? "'\(text)' is no address with a port" : nil
        case (.addressOrOff, .string(let text)):
            text != "off" && SocketAddress(text: text) == nil
                ? "'\(text)' is neither an address with a port nor off" : nil
        case (.path, .string(let text)): text.isEmpty ? "the path is empty" : nil
        case (.paths, .stringArray(let paths)):
            paths.isEmpty || paths.contains("") ? "a path is empty" : nil
        default: nil
        }
    }

    /// Why a text is not of the setting's type.
    func mismatch(_ text: String) -> String {
        let shown = isSecret ? "the value" : "'\(text)'"
        return switch kind {
        case .integer: "\(shown) is not a whole number"
        case .flag: "\(shown) is neither true nor false"
        case .text, .choice, .address, .addressOrOff, .path, .paths: "\(shown) is of the wrong type"
        }
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
