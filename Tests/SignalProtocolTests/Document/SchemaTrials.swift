import CallVocabulary

/// Values made from a schema: what it allows, and what it does not.
struct SchemaTrials {
    let document: ProtocolDocument

    /// One value and what a reader is to say of it.
    struct Trial {
        enum Kind { case missing, mistyped, beyond, within }

        let kind: Kind
        /// The member in question, and what is odd about it.
        let what: String
        /// The last name on the way to the member.
        let member: String
        let value: JSONTree
        /// nil for a value that is to be taken.
        let refusal: SignalError.Code?
    }

    // MARK: What is allowed

    /// All members, or only those required.
    func sample(_ schema: JSONTree, full: Bool) -> JSONTree {
        let schema = document.resolved(schema)
        if let value = schema["const"] ?? schema["enum"]?.elements?.first ?? schema["examples"]?.elements?.first {
            return value
        }
        if let first = schema["oneOf"]?.elements?.first { return sample(first, full: full) }
        switch schema["type"]?.string {
        case "object":
            let required = Set(schema["required"]?.strings ?? [])
            let members = (schema["properties"]?.members ?? [:]).filter { full || required.contains($0.key) }
            return .object(members.mapValues { sample($0, full: full) })
        case "array":
            return .array(schema["items"].map { [sample($0, full: full)] } ?? [])
        case "boolean": return .bool(true)
        case "integer": return .integer(1)
        case "null": return .null
        default: return .string("x")
        }
    }

    /// With all members, once for each branch and each value of an enumeration anywhere in it.
    func variants(_ schema: JSONTree) -> [JSONTree] {
        let schema = document.resolved(schema)
        if let branches = schema["oneOf"]?.elements { return branches.flatMap { variants($0) } }
        if let values = schema["enum"]?.elements ?? schema["examples"]?.elements { return values }
        let base = sample(schema, full: true)
        switch schema["type"]?.string {
        case "object":
            let properties = (schema["properties"]?.members ?? [:]).sorted { $0.key < $1.key }
            return [base]
                + properties.flatMap { name, property in
                    variants(property).dropFirst().map { base.setting(name, to: $0) }
                }
        case "array":
            let filled: [JSONTree] = schema["items"].map { variants($0).map { .array([$0]) } } ?? []
            return schema["minItems"] == nil ? filled + [.array([])] : filled
        case "boolean" where schema["const"] == nil: return [.bool(true), .bool(false)]
        default: return [base]
        }
    }

    // MARK: What is not

    /// The value with one thing changed, in every way that the schema has something to say about.
    func trials(_ schema: JSONTree, _ value: JSONTree, at path: String = "") -> [Trial] {
        let schema = document.resolved(schema)
        var trials = limits(schema, at: path)
        if let branches = schema["oneOf"]?.elements {
            let check = SchemaCheck(document: document)
            let branch = branches.first { check.problems(value, $0).isEmpty }
            trials += branch.map { self.trials($0, value, at: path) } ?? []
            // What is wrong for one branch may be right for another.
            return trials.filter { $0.refusal == nil || !check.problems($0.value, schema).isEmpty }
        }
        for wrong in Self.wrongValues(schema) { trials.append(trial(.mistyped, wrong, path, .invalidParams)) }
        for (name, property) in (schema["properties"]?.members ?? [:]).sorted(by: { $0.key < $1.key }) {
            guard let member = value[name] else { continue }
            let inside = "\(path).\(name)"
            if schema["required"]?.strings.contains(name) == true {
                let without = value.setting(name, to: nil)
                trials.append(
                    Trial(
                        kind: .missing, what: "\(inside) missing", member: name, value: without, refusal: .invalidParams
                    ))
            }
            trials += self.trials(property, member, at: inside).map { trial in
                trial.inside { value.setting(name, to: $0) }
            }
        }
        if let items = schema["items"], let first = value.elements?.first {
            trials += self.trials(items, first, at: "\(path)[0]").map { trial in trial.inside { .array([$0]) } }
        }
        return trials
    }

    private func trial(_ kind: Trial.Kind, _ value: JSONTree, _ path: String, _ refusal: SignalError.Code?) -> Trial {
        let member = path.split(whereSeparator: { ".[".contains($0) }).last { $0 != "0]" } ?? ""
        return Trial(
            kind: kind, what: "\(path) = \(value.text.prefix(60))", member: String(member), value: value,
            refusal: refusal)
    }

    private static func isASCII(_ schema: JSONTree) -> Bool { schema["pattern"]?.string == #"^[\u0000-\u007F]*$"# }

    /// Values of other types, and those no enumeration, pattern or constant has.
    private static func wrongValues(_ schema: JSONTree) -> [JSONTree] {
        var wrong: [JSONTree] = []
        switch schema["type"]?.string {
        case "string":
            wrong = [.integer(7), .bool(true), .array([]), .object([:])]
            if schema["enum"] != nil { wrong += [.string("no such value"), .string("")] }
            if isASCII(schema) {
                wrong.append(.string("ä"))
            } else if schema["pattern"] != nil {
                wrong.append(.string("not so"))
            }
            if schema["minLength"] != nil { wrong.append(.string("")) }
        case "integer":
            wrong = [.string("1"), .raw("1.5"), .raw("1e3"), .bool(true), .array([])]
            if let low = schema["minimum"]?.integer { wrong.append(.integer(low - 1)) }
            if let high = schema["maximum"]?.integer { wrong.append(.integer(high + 1)) }
            if schema["format"]?.string == "uint64" { wrong.append(.integer(Int128(UInt64.max) + 1)) }
        case "boolean": wrong = [.integer(1), .string("true")]
        case "object": wrong = [.array([]), .string("x"), .integer(1)]
        case "array":
            wrong = [.integer(1), .bool(false)]
            if schema["minItems"] != nil { wrong.append(.array([])) }
        default: break
        }
        return wrong
    }

    /// What is just within each limit and just beyond it.
    private func limits(_ schema: JSONTree, at path: String) -> [Trial] {
        var trials: [Trial] = []
        func add(_ within: JSONTree, _ beyond: JSONTree, _ refusal: SignalError.Code) {
            trials.append(trial(.within, within, path, nil))
            trials.append(trial(.beyond, beyond, path, refusal))
        }
        if let limit = schema["x-maxBytes"]?.integer.map({ Int($0) }) {
            let isTooLarge = schema["x-refusedAs"]?.string == "too_large"
            let full =
                Self.isASCII(schema)
                ? String(repeating: "x", count: limit)
                : String(repeating: "ä", count: limit / 2) + String(repeating: "x", count: limit % 2)
            add(.string(full), .string(full + "x"), isTooLarge ? .tooLarge(limit: limit) : .invalidParams)
        } else if let limit = schema["maxLength"]?.integer.map({ Int($0) }), schema["x-maxFrameBytes"] == nil {
            trials.append(
                trial(.beyond, .string(String(repeating: "a", count: limit + 1)), path, .invalidParams))
        }
        if let limit = schema["x-maxFrameBytes"]?.integer.map({ Int($0) }) {
            add(
                .raw(Self.filling(schema, limit)), .raw(Self.filling(schema, limit + 1)), .tooLarge(limit: limit))
        }
        if let limit = schema["maxItems"]?.integer.map({ Int($0) }), let items = schema["items"] {
            let element = sample(items, full: false)
            add(
                .array(Array(repeating: element, count: limit)), .array(Array(repeating: element, count: limit + 1)),
                .tooLarge(limit: limit))
        }
        if schema["format"]?.string == "uint64" {
            trials.append(trial(.within, .integer(Int128(UInt64.max)), path, nil))
        }
        for bound in ["minimum", "maximum"] {
            if let bound = schema[bound] { trials.append(trial(.within, bound, path, nil)) }
        }
        return trials
    }

    /// Takes exactly so many bytes in the frame, as the schema counts them.
    private static func filling(_ schema: JSONTree, _ size: Int) -> String {
        func text(_ size: Int) -> String { "\"\(String(repeating: "x", count: size - 2))\"" }
        switch schema["type"]?.string {
        // Quotation marks do not count. An escape stands for two bytes of UTF-8 and takes six.
        case "string":
            let escapes = size / 6
            return "\"\(String(repeating: #"\u00e4"#, count: escapes))\(String(repeating: "x", count: size % 6))\""
        // Each element counts with a comma, white space between them does not.
        case "array": return "[\(text(30_000)) ,  \(text(size - 30_002))]"
        // `to`: white space inside a list counts.
        case nil where schema["oneOf"] != nil: return "[\"a\"\(String(repeating: " ", count: size - 5))]"
        default: return text(size)
        }
    }
}

extension SchemaTrials.Trial {
    /// The same with what it is a part of.
    func inside(_ whole: (JSONTree) -> JSONTree) -> Self {
        Self(kind: kind, what: what, member: member, value: whole(value), refusal: refusal)
    }
}
