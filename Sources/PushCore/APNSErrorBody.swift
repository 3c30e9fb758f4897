import CallVocabulary

/// The two fields of APNs's error bodies: `{"reason":"Unregistered","timestamp":1529354325000}`.
///
/// Malformed input counts as a missing field, because the HTTP status alone yields a verdict.
struct APNSErrorBody {
    /// Reasons in use are below 30 bytes; a longer one is not a reason.
    private static let longestReason = 64

    private(set) var reason: String?
    /// Milliseconds since the epoch; nil for a time after `Instant.latest`.
    private(set) var timestamp: Int64?

    init(_ body: [UInt8]) {
        var scanner = Scanner(body.prefix(PushAnswer.longestBody))
        guard scanner.take("{") else { return }
        while let key = scanner.string(), scanner.take(":") {
            switch key {
            case "reason":
                guard let value = scanner.string(), (1...Self.longestReason).contains(value.utf8.count) else { return }
                reason = value
            case "timestamp":
                guard let digits = scanner.digits() else { return }
                timestamp = Int64(digits: digits, in: 0...Instant.latest.milliseconds)
            default:
                // An undocumented field: strings and numbers are skipped, any other value ends the parsing.
                guard scanner.string() != nil || scanner.digits() != nil else { return }
            }
            guard scanner.take(",") else { return }
        }
    }
}

/// Reads the tokens of a flat JSON object.
private struct Scanner {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) {
        rest = bytes
    }

    mutating func take(_ character: Unicode.Scalar) -> Bool {
        skipSpace()
        guard rest.first == UInt8(ascii: character) else { return false }
        rest.removeFirst()
        return true
    }

    /// Reads a string of printable ASCII without escapes, as all of APNs's are; consumes nothing when it returns nil.
    mutating func string() -> String? {
        skipSpace()
        guard rest.first == UInt8(ascii: "\""), let end = rest.dropFirst().firstIndex(of: UInt8(ascii: "\"")) else {
            return nil
        }
        let content = rest[(rest.startIndex + 1)..<end]
        guard content.allSatisfy({ 0x20...0x7E ~= $0 && $0 != UInt8(ascii: "\\") }) else { return nil }
        rest = rest[(end + 1)...]
        return String(decoding: content, as: UTF8.self)
    }

    /// Reads an unsigned integer of any size; consumes nothing when it returns nil.
    mutating func digits() -> ArraySlice<UInt8>? {
        skipSpace()
        let digits = rest.prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
        guard !digits.isEmpty else { return nil }
        rest = rest[digits.endIndex...]
        return digits
    }

    private mutating func skipSpace() {
        rest = rest.drop { $0 == 0x20 || $0 == 0x09 || $0 == 0x0A || $0 == 0x0D }
    }
}
