import CallVocabulary
import WireJSON

/// Reads typed members of one object; other members are ignored.
struct FieldReader {
    let object: JSONObject

    init(_ object: JSONObject) { self.object = object }

    // MARK: Required and optional

    /// - Parameter read: returns nil for a value of the wrong type or out of range.
    func optional<Value>(
        _ name: StaticString, _ expected: @autoclosure () -> String, _ read: (JSONValue) -> Value?
    ) throws(FieldFailure) -> Value? {
        guard let value = object[name] else { return nil }
        guard let result = read(value) else { throw mistyped(name, expected()) }
        return result
    }

    func required<Value>(
        _ name: StaticString, _ expected: @autoclosure () -> String, _ read: (JSONValue) -> Value?
    ) throws(FieldFailure) -> Value {
        guard let result = try optional(name, expected(), read) else {
            throw FieldFailure(path: "\(name)", problem: .missing, expected: expected())
        }
        return result
    }

    func mistyped(_ name: StaticString, _ expected: String) -> FieldFailure {
        FieldFailure(path: "\(name)", problem: .mistyped, expected: expected)
    }

    // MARK: Scalars

    private static let uuid = "a UUID, as in \"6ba7b810-9dad-41d1-80b4-00c04fd430c8\""

    func identifier<Subject>(_ name: StaticString) throws(FieldFailure) -> Identifier<Subject> {
        try required(name, Self.uuid) { $0.identifier() }
    }

    func optionalIdentifier<Subject>(_ name: StaticString) throws(FieldFailure) -> Identifier<Subject>? {
        try optional(name, Self.uuid) { $0.identifier() }
    }

    /// Reads a string that is not empty.
    func string(_ name: StaticString, upTo limit: Int = .max) throws(FieldFailure) -> String {
        guard let text = try optionalString(name, upTo: limit) else {
            throw FieldFailure(path: "\(name)", problem: .missing, expected: "a string")
        }
        guard !text.isEmpty else { throw mistyped(name, "a string that is not empty") }
        return text
    }

    /// Reads a string of ASCII characters that is not empty.
    func asciiString(_ name: StaticString, upTo limit: Int) throws(FieldFailure) -> String {
        let text = try string(name, upTo: limit)
        guard text.utf8.allSatisfy({ $0 < 0x80 }) else { throw mistyped(name, "a string of ASCII characters") }
        return text
    }

    func optionalString(_ name: StaticString, upTo limit: Int = .max) throws(FieldFailure) -> String? {
        let text = try optionalLongString(name, upTo: limit)
        guard text.map({ ForeignText.isComparable($0.utf8) }) ?? true else {
            throw mistyped(name, "a string of ASCII characters, or of at most \(ForeignText.longest) bytes")
        }
        return text
    }

    /// Reads a text that is neither compared nor hashed.
    func optionalLongString(_ name: StaticString, upTo limit: Int) throws(FieldFailure) -> String? {
        let text = try optional(name, "a string") { $0.longString }
        if let text, text.utf8.count > limit { throw mistyped(name, "a string of at most \(limit) bytes") }
        return text
    }

    func integer<Number: FixedWidthInteger>(
        _ name: StaticString, in range: ClosedRange<Number>
    ) throws(FieldFailure) -> Number {
        try required(name, Self.expectation(range)) { Self.integer($0, in: range) }
    }

    func optionalInteger<Number: FixedWidthInteger>(
        _ name: StaticString, in range: ClosedRange<Number>
    ) throws(FieldFailure) -> Number? {
        try optional(name, Self.expectation(range)) { Self.integer($0, in: range) }
    }

    private static func integer<Number: FixedWidthInteger>(
        _ value: JSONValue, in range: ClosedRange<Number>
    ) -> Number? {
        value.integer(Number.self).flatMap { range.contains($0) ? $0 : nil }
    }

    private static func expectation<Number: FixedWidthInteger>(_ range: ClosedRange<Number>) -> String {
        range.upperBound == .max
            ? "a whole number, \(range.lowerBound) or more"
            : "a whole number from \(range.lowerBound) to \(range.upperBound)"
    }

    func bool(_ name: StaticString) throws(FieldFailure) -> Bool? {
        try optional(name, "true or false") { $0.bool }
    }

    /// Integers that every JSON library represents exactly (RFC 8259, section 6); sums of them do not overflow.
    private static let exact: ClosedRange<Int64> = 0...(1 << 53 - 1)

    /// Reads a time in milliseconds since 1970.
    func instant(_ name: StaticString) throws(FieldFailure) -> Instant {
        Instant(milliseconds: try integer(name, in: Self.exact))
    }

    func optionalInstant(_ name: StaticString) throws(FieldFailure) -> Instant? {
        try optionalInteger(name, in: Self.exact).map { Instant(milliseconds: $0) }
    }

    /// Reads a duration in milliseconds.
    func duration(_ name: StaticString) throws(FieldFailure) -> Duration {
        .milliseconds(try integer(name, in: Self.exact))
    }

    func optionalDuration(_ name: StaticString) throws(FieldFailure) -> Duration? {
        try optionalInteger(name, in: Self.exact).map { .milliseconds($0) }
    }

    func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ name: StaticString, _ type: Choice.Type = Choice.self
    ) throws(FieldFailure) -> Choice {
        try required(name, Self.choices(type)) { $0.choice() }
    }

    func optionalChoice<Choice: RawRepresentable<String> & CaseIterable>(
        _ name: StaticString, _ type: Choice.Type = Choice.self
    ) throws(FieldFailure) -> Choice? {
        try optional(name, Self.choices(type)) { $0.choice() }
    }

    private static func choices<Choice: RawRepresentable<String> & CaseIterable>(_ type: Choice.Type) -> String {
        let names = type.allCases.map { "\"\($0.rawValue)\"" }
        return names.count == 1 ? names[0] : "one of " + names.joined(separator: ", ")
    }

    // MARK: Nested values

    func object<Value>(
        _ name: StaticString, _ read: (FieldReader) throws(FieldFailure) -> Value
    ) throws(FieldFailure) -> Value {
        guard let value = try optionalObject(name, read) else {
            throw FieldFailure(path: "\(name)", problem: .missing, expected: "an object")
        }
        return value
    }

    func optionalObject<Value>(
        _ name: StaticString, _ read: (FieldReader) throws(FieldFailure) -> Value
    ) throws(FieldFailure) -> Value? {
        guard let value = object[name] else { return nil }
        guard value.kind == .object else { throw mistyped(name, "an object") }
        do throws(FieldFailure) {
            return try read(FieldReader(JSONObject(value)))
        } catch {
            throw error.inside("\(name)")
        }
    }

    /// - Parameter read: converts each element; returns nil for an unexpected one.
    func optionalArray<Value>(
        _ name: StaticString, upTo limit: Int = .max, of expected: @autoclosure () -> String,
        _ read: (JSONValue) throws(FieldFailure) -> Value?
    ) throws(FieldFailure) -> [Value]? {
        guard let value = object[name] else { return nil }
        guard value.kind == .array else { throw mistyped(name, "a list; each element \(expected())") }
        return try elements(of: value, name: "\(name)", upTo: limit, of: expected(), read)
    }

    func array<Value>(
        _ name: StaticString, upTo limit: Int = .max, of expected: @autoclosure () -> String,
        _ read: (JSONValue) throws(FieldFailure) -> Value?
    ) throws(FieldFailure) -> [Value] {
        guard let values = try optionalArray(name, upTo: limit, of: expected(), read) else {
            throw FieldFailure(path: "\(name)", problem: .missing, expected: "a list; each element \(expected())")
        }
        return values
    }

    func elements<Value>(
        of value: JSONValue, name: String, upTo limit: Int, of expected: @autoclosure () -> String,
        _ read: (JSONValue) throws(FieldFailure) -> Value?
    ) throws(FieldFailure) -> [Value] {
        var values: [Value] = []
        try value.forEachElement { (element) throws(FieldFailure) in
            guard values.count < limit else {
                throw FieldFailure(path: name, problem: .tooLarge(limit: limit, unit: "elements"), expected: "")
            }
            do throws(FieldFailure) {
                guard let read = try read(element) else {
                    throw FieldFailure(path: "", problem: .mistyped, expected: expected())
                }
                values.append(read)
            } catch {
                var failure = error
                failure.path = error.path.isEmpty ? "[\(values.count)]" : "[\(values.count)].\(error.path)"
                throw failure.inside(name)
            }
        }
        return values
    }
}
