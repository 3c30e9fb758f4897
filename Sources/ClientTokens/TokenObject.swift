import CallVocabulary
import WireJSON

/// The members of a token's header, of its claims or of a key. `null` counts as missing; a repeated member is refused
/// (RFC 7515, section 4; RFC 7519, section 4).
struct TokenObject {
    /// By the bytes of the name: Swift compares texts by canonical equivalence.
    private var members: [[UInt8]: TokenValue] = [:]

    /// - Parameter part: the name of the object, for the refusal.
    init(_ bytes: [UInt8], part: String) throws(TokenRefusal) {
        let read = bytes.withUnsafeBytes { buffer in
            Result { () throws(JSONSyntaxError) in try Self.read(buffer) }
        }
        switch read {
        case .success(.members(let members)): self.members = members
        case .success(.repeated(let name)):
            throw .malformed(.repeated(part, TokenValue.string(name).shown))
        case .success(.notAnObject): throw .malformed(.notAnObject(part))
        case .failure(let error): throw .malformed(.json(part, error.description))
        }
    }

    private enum Contents {
        case members([[UInt8]: TokenValue])
        case repeated(String)
        case notAnObject
    }

    private static func read(_ buffer: UnsafeRawBufferPointer) throws(JSONSyntaxError) -> Contents {
        guard try JSONScanner.document(buffer).kind == .object else { return .notAnObject }
        var members: [[UInt8]: TokenValue] = [:]
        var names: Set<[UInt8]> = []
        var scanner = JSONScanner(buffer)
        try scanner.enterObject()
        while let key = try scanner.nextKey() {
            let name = key.longString ?? ""
            guard names.insert(Array(name.utf8)).inserted else { return .repeated(name) }
            members[Array(name.utf8)] = TokenValue(try scanner.value())
        }
        return .members(members)
    }

    subscript(_ name: String) -> TokenValue? { members[Array(name.utf8)] }

    /// - Parameter expected: what the claim is, for the refusal.
    func text(_ name: String, _ expected: String) throws(TokenRefusal) -> String? {
        switch self[name] {
        case nil: return nil
        case .string(let text)?: return text
        case let other?: throw .claim(name, .mistyped(other.shown, expected: expected))
        }
    }

    /// The members with their values, in the order of their names, for people.
    var shown: [(name: String, value: String)] {
        members.map {
            (TokenValue.string(String(decoding: $0.key, as: UTF8.self)).shown.dropFirst().dropLast(), $0.value.shown)
        }
        .map { (name: String($0.0), value: $0.1) }.sorted { $0.name < $1.name }
    }

    static let time = "a number, seconds since 1970"

    /// Reads a NumericDate (RFC 7519, section 2): whole or fractional seconds.
    func time(_ name: String) throws(TokenRefusal) -> Instant? {
        switch self[name] {
        case nil: return nil
        case .number(let seconds, _)?:
            // The signer may write any number: it is clamped to some thousands of years.
            return Instant(milliseconds: Int64(max(-1e15, min(seconds * 1000, 1e15))))
        case let other?: throw .claim(name, .mistyped(other.shown, expected: Self.time))
        }
    }
}

/// One value in a token or in a key.
enum TokenValue {
    /// Of any length. Whoever compares it compares bytes.
    case string(String)
    case number(Double, text: String)
    /// The elements, as JSON.
    case array([[UInt8]], text: String)
    case other(String)

    /// nil for `null`.
    init?(_ value: JSONValue) {
        switch value.kind {
        case .null: return nil
        case .string: self = .string(value.longString ?? "")
        case .integer, .fraction:
            let text = String(decoding: value.bytes, as: UTF8.self)
            guard let number = Double(text), number.isFinite else {
                self = .other(text)
                return
            }
            self = .number(number, text: text)
        case .array:
            var elements: [[UInt8]] = []
            value.forEachElement { elements.append(Array($0.bytes)) }
            self = .array(elements, text: String(decoding: value.bytes, as: UTF8.self))
        case .bool, .object: self = .other(String(decoding: value.bytes, as: UTF8.self))
        }
    }

    /// The texts of a list of texts; nil for anything else.
    var texts: [String]? {
        guard case .array(let elements, _) = self else { return nil }
        var texts: [String] = []
        for element in elements {
            let text = element.withUnsafeBytes { buffer in try? JSONScanner.document(buffer).string }
            guard let text else { return nil }
            texts.append(text)
        }
        return texts
    }

    /// Whether it is a text of exactly these bytes.
    func isText(_ other: String) -> Bool {
        guard case .string(let text) = self else { return false }
        return text.utf8.elementsEqual(other.utf8)
    }

    /// The value for a refusal, of bounded length.
    var shown: String {
        switch self {
        case .string(let text): "\"\(Self.short(text))\""
        case .number(_, let text), .array(_, let text), .other(let text): Self.short(text)
        }
    }

    private static func short(_ text: String) -> String {
        let kept = text.unicodeScalars.prefix(longestShown).filter { !DisplayName.isLeftOut($0) }
        return String(String.UnicodeScalarView(kept)) + (text.unicodeScalars.count > longestShown ? "…" : "")
    }

    private static let longestShown = 100
}
