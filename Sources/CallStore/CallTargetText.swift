import CallVocabulary
import Foundation

/// How a ``CallTarget`` stands in a column: the JSON of the wire, `{"user":…}`, `{"users":[…]}` or `{"group":…}`.
enum CallTargetText {
    private struct Form: Decodable {
        var user: String?
        var users: [String]?
        var group: String?
    }

    static func write(_ target: CallTarget) -> String {
        switch target {
        case .user(let handle): return "{\"user\":\(quoted(handle.text))}"
        case .users(let handles): return "{\"users\":[\(handles.map { quoted($0.text) }.joined(separator: ","))]}"
        case .group(let name): return "{\"group\":\(quoted(name))}"
        }
    }

    /// - Returns: nil when the text is none of the three forms.
    static func read(_ text: String) -> CallTarget? {
        guard let form = try? JSONDecoder().decode(Form.self, from: Data(text.utf8)) else { return nil }
        if let user = form.user { return Handle(user).map(CallTarget.user) }
        if let users = form.users {
            let handles = users.compactMap { Handle($0) }
            return handles.count == users.count ? .users(handles) : nil
        }
        return form.group.map(CallTarget.group)
    }

    /// A JSON string (RFC 8259, section 7).
    private static func quoted(_ text: String) -> String {
        let mustEscape = text.utf8.contains { $0 < 0x20 || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }
        guard mustEscape else { return "\"\(text)\"" }
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\":
                quoted.unicodeScalars.append("\\")
                quoted.unicodeScalars.append(scalar)
            case "\0"..<" ":
                let digits = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
