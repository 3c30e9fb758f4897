/// Holds a value against a schema of the document.
///
/// It knows the keywords the document uses and reports any other, so that no rule goes unchecked. Unlike the readers of
/// the protocol it takes no members that the schema does not name: what is written has to be documented.
struct SchemaCheck {
    let document: ProtocolDocument

    /// Say nothing about which values are good, or are tried in frames by ``SchemaTrials``.
    private static let annotations: Set = [
        "description", "examples", "format", "x-maxFrameBytes", "x-maxContentBytes", "x-maxBodyBytes", "x-refusedAs",
    ]

    /// What is wrong, with the path to it; empty for a value as it should be.
    func problems(_ value: JSONTree, _ schema: JSONTree, at path: String = "") -> [String] {
        let schema = document.resolved(schema)
        guard let rules = schema.members else { return ["\(path): its schema is no object: \(schema.text)"] }
        var problems: [String] = []
        for (keyword, rule) in rules.sorted(by: { $0.key < $1.key }) where !Self.annotations.contains(keyword) {
            switch keyword {
            case "required":
                for name in rule.strings where value[name] == nil { problems.append("\(path): \(name) is missing") }
            case "properties": problems += members(of: value, rule, at: path)
            case "items":
                for (index, element) in (value.elements ?? []).enumerated() {
                    problems += self.problems(element, rule, at: "\(path)[\(index)]")
                }
            case "oneOf": problems += choice(value, rule.elements ?? [], at: path)
            default:
                if !satisfies(value, keyword, rule) {
                    problems.append("\(path): \(value.text.prefix(80)) for \(keyword) \(rule.text)")
                }
            }
        }
        return problems
    }

    private func members(of value: JSONTree, _ properties: JSONTree, at path: String) -> [String] {
        (value.members ?? [:]).sorted { $0.key < $1.key }.flatMap { name, member in
            guard let schema = properties[name] else { return ["\(path): \(name) is not documented"] }
            return problems(member, schema, at: "\(path).\(name)")
        }
    }

    private func choice(_ value: JSONTree, _ branches: [JSONTree], at path: String) -> [String] {
        let outcomes = branches.map { problems(value, $0, at: path) }
        let fitting = outcomes.count(where: \.isEmpty)
        guard fitting != 1 else { return [] }
        return ["\(path): \(value.text.prefix(80)) fits \(fitting) of \(branches.count) branches"] + outcomes.joined()
    }

    private func satisfies(_ value: JSONTree, _ keyword: String, _ rule: JSONTree) -> Bool {
        switch keyword {
        case "type": Self.isOf(type: rule.string ?? "", value)
        case "const": value == rule
        case "enum": rule.elements?.contains(value) == true
        case "pattern": value.string.map { Self.matches($0, rule.string ?? "") } ?? true
        case "minLength": value.string.map { $0.unicodeScalars.count >= rule.integer ?? .max } ?? true
        case "maxLength": value.string.map { $0.unicodeScalars.count <= rule.integer ?? 0 } ?? true
        case "x-maxBytes": value.string.map { $0.utf8.count <= rule.integer ?? 0 } ?? true
        case "minimum": value.integer.map { $0 >= rule.integer ?? .max } ?? true
        case "maximum": value.integer.map { $0 <= rule.integer ?? .min } ?? true
        case "minItems": value.elements.map { $0.count >= rule.integer ?? .max } ?? true
        case "maxItems": value.elements.map { $0.count <= rule.integer ?? 0 } ?? true
        // A keyword nobody checks.
        default: false
        }
    }

    private static func isOf(type: String, _ value: JSONTree) -> Bool {
        switch value {
        case .null: type == "null"
        case .bool: type == "boolean"
        case .integer: type == "integer"
        case .string: type == "string"
        case .array: type == "array"
        case .object: type == "object"
        case .fraction, .raw: false
        }
    }

    private static func matches(_ text: String, _ pattern: String) -> Bool {
        guard let regex = try? Regex(pattern).matchingSemantics(.unicodeScalar) else { return false }
        return text.wholeMatch(of: regex) != nil
    }
}

/// Which members that may be left out have been seen, and which have been seen left out.
struct OptionalMembers {
    let document: ProtocolDocument
    private(set) var seen: Set<String> = []
    private(set) var leftOut: Set<String> = []

    init(document: ProtocolDocument) { self.document = document }

    /// - Parameter name: what the paths start with.
    mutating func note(_ value: JSONTree, _ schema: JSONTree, _ name: String) {
        let schema = document.resolved(schema)
        if let branches = schema["oneOf"]?.elements {
            let check = SchemaCheck(document: document)
            for branch in branches where check.problems(value, branch).isEmpty { note(value, branch, name) }
        }
        for element in value.elements ?? [] { if let items = schema["items"] { note(element, items, "\(name)[]") } }
        guard let members = value.members, let properties = schema["properties"]?.members else { return }
        let required = Set(schema["required"]?.strings ?? [])
        for (member, schema) in properties {
            let path = "\(name).\(member)"
            if let value = members[member] { note(value, schema, path) }
            if required.contains(member) { continue }
            if members[member] == nil { leftOut.insert(path) } else { seen.insert(path) }
        }
    }

    /// Those that were always there or never.
    var oneSided: [String] { seen.symmetricDifference(leftOut).sorted() }
}
