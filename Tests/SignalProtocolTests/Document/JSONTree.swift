import Foundation

/// A JSON document as a value, read by `JSONDecoder` and so independently of the project's own scanner.
indirect enum JSONTree: Hashable, Sendable {
    case null
    case bool(Bool)
    /// Wide enough for all numbers of 64 bits, signed or not.
    case integer(Int128)
    case fraction(Double)
    case string(String)
    case array([JSONTree])
    case object([String: JSONTree])
    /// Text to be written as it is, for what no value above is written as. Never read.
    case raw(String)

    init(_ bytes: some Sequence<UInt8>) throws {
        self = try JSONDecoder().decode(JSONTree.self, from: Data(bytes))
    }

    /// Members in the order of their names.
    var text: String {
        switch self {
        case .null: "null"
        case .bool(let value): "\(value)"
        case .integer(let value): "\(value)"
        case .fraction(let value): "\(value)"
        case .string(let value): Self.quoted(value)
        case .array(let elements): "[\(elements.map(\.text).joined(separator: ","))]"
        case .object(let members): "{\(Self.list(members))}"
        case .raw(let text): text
        }
    }

    private static func list(_ members: [String: JSONTree]) -> String {
        let sorted = members.sorted { $0.key < $1.key }
        return sorted.map { "\(quoted($0.key)):\($0.value.text)" }.joined(separator: ",")
    }

    private static func quoted(_ text: String) -> String {
        let escaped = text.unicodeScalars.map { scalar in
            switch scalar {
            case "\"", "\\": "\\\(scalar)"
            case "\u{0}"..."\u{1F}": "\\u00" + (scalar.value < 16 ? "0" : "") + String(scalar.value, radix: 16)
            default: String(scalar)
            }
        }
        return "\"\(escaped.joined())\""
    }

    // MARK: Parts

    /// A member of an object; nil for anything else.
    subscript(_ name: String) -> JSONTree? { members?[name] }

    var members: [String: JSONTree]? { if case .object(let members) = self { members } else { nil } }
    var elements: [JSONTree]? { if case .array(let elements) = self { elements } else { nil } }
    var string: String? { if case .string(let text) = self { text } else { nil } }
    var integer: Int128? { if case .integer(let number) = self { number } else { nil } }
    var bool: Bool? { if case .bool(let value) = self { value } else { nil } }

    /// The strings of a list.
    var strings: [String] { elements?.compactMap(\.string) ?? [] }

    func setting(_ name: String, to value: JSONTree?) -> JSONTree {
        var members = members ?? [:]
        members[name] = value
        return .object(members)
    }
}

extension JSONTree: Decodable {
    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if value.decodeNil() {
            self = .null
        } else if let bool = try? value.decode(Bool.self) {
            self = .bool(bool)
        } else if let integer = try? value.decode(Int64.self) {
            self = .integer(Int128(integer))
        } else if let integer = try? value.decode(UInt64.self) {
            self = .integer(Int128(integer))
        } else if let fraction = try? value.decode(Double.self) {
            self = .fraction(fraction)
        } else if let text = try? value.decode(String.self) {
            self = .string(text)
        } else if let elements = try? value.decode([JSONTree].self) {
            self = .array(elements)
        } else {
            self = .object(try value.decode([String: JSONTree].self))
        }
    }
}
