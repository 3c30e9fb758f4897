/// The members of one object, to be asked for by name.
///
/// Of a member that comes twice the last one counts; `null` counts as left out.
struct JSONObject {
    /// No name of the protocol is longer, so longer ones are not kept.
    private static let longestName = 16

    private var members: [(name: JSONValue, value: JSONValue)] = []

    init() {}

    /// Enters the object that comes next and goes past it.
    init(from scanner: inout JSONScanner) throws(JSONSyntaxError) {
        try scanner.enterObject()
        members.reserveCapacity(8)
        while let name = try scanner.nextKey() {
            let value = try scanner.value()
            if name.hasEscapes || name.textCount <= Self.longestName { members.append((name, value)) }
        }
    }

    /// - Parameter value: an object.
    init(_ value: JSONValue) {
        var scanner = JSONScanner(value.bytes)
        do {
            try self.init(from: &scanner)
        } catch {
            // The same bytes went through the same checks before, as part of a deeper nesting.
            preconditionFailure("a JSONValue is well-formed: \(error)")
        }
    }

    /// nil when it is missing or `null`.
    subscript(_ name: StaticString) -> JSONValue? {
        for member in members.reversed() where name ~= member.name {
            return member.value.isNull ? nil : member.value
        }
        return nil
    }
}
