import CallVocabulary
import WireJSON

/// A JSON object with placeholders: the pattern of one kind of payload. Immutable.
///
/// A string that is nothing but a placeholder (`"${has_video}"`) becomes the placeholder's value, with its JSON type.
/// A placeholder within a longer string becomes text. Texts are escaped. A member whose placeholder has no value in a
/// push is left out.
struct PayloadTemplate: Sendable {
    /// A placeholder, as written in a template.
    struct Placeholder: Equatable, Sendable {
        let field: PayloadField
        var form = Form.natural
    }

    /// `${has_video}`, `${has_video:number}`, `${has_video:string}`.
    enum Form: String, Sendable {
        case natural
        /// 1 or 0 for a boolean.
        case number
        case string
    }

    indirect enum Node: Sendable {
        case literal(RawJSON)
        case value(Placeholder)
        case text([Segment])
        case object([Member])
        case array([Node])
        /// The JSON of an object or array, as a string.
        case encoded(Node)
    }

    enum Segment: Sendable {
        case literal(String)
        case value(Placeholder)
    }

    struct Member: Sendable {
        let name: String
        let node: Node
    }

    /// How the values at the top level are written.
    enum Values: Sendable {
        case typed
        /// As strings: the `data` of FCM takes no other type. An object or array becomes its JSON, as a string.
        case strings
    }

    private(set) var members: [Member]

    init(members: [Member]) {
        self.members = members
    }

    /// Adds members that are missing.
    /// - Throws: ``PayloadTemplateError`` for a member of such a name with another value.
    mutating func require(_ fields: [PayloadField], as values: Values) throws(PayloadTemplateError) {
        for field in fields {
            let node = Node(.value(Placeholder(field: field)), values)
            guard let given = members.first(where: { $0.name == field.rawValue }) else {
                members.append(Member(name: field.rawValue, node: node))
                continue
            }
            guard given.node.placeholder == Placeholder(field: field) else {
                throw PayloadTemplateError(
                    [field.rawValue], "the value of this member is always \"${\(field.rawValue)}\"")
            }
        }
    }

    /// Writes the members of the object.
    func write(_ values: PayloadValues, to json: inout JSONWriter) {
        Node.write(members, values, to: &json)
    }

    /// The object alone.
    func bytes(_ values: PayloadValues) -> [UInt8] {
        JSONWriter.bytes { json in json.object { write(values, to: &$0) } }
    }
}

extension PayloadTemplate.Node {
    /// A member's value at the top.
    init(_ node: Self, _ values: PayloadTemplate.Values) {
        self =
            switch (values, node) {
            case (.typed, _), (.strings, .text), (.strings, .encoded): node
            case (.strings, .value(let placeholder)): .text([.value(placeholder)])
            case (.strings, .literal(let raw)): raw.bytes.first == UInt8(ascii: "\"") ? node : .encoded(node)
            case (.strings, .object), (.strings, .array): .encoded(node)
            }
    }

    /// The only content of the node, typed or as text.
    fileprivate var placeholder: PayloadTemplate.Placeholder? {
        switch self {
        case .value(let placeholder): placeholder
        case .text(let segments):
            if segments.count == 1, case .value(let placeholder) = segments[0] { placeholder } else { nil }
        case .literal, .object, .array, .encoded: nil
        }
    }

    fileprivate func isPresent(_ values: PayloadValues) -> Bool {
        placeholder.map { values.value(of: $0) != nil } ?? true
    }

    fileprivate static func write(
        _ members: [PayloadTemplate.Member], _ values: PayloadValues, to json: inout JSONWriter
    ) {
        for member in members where member.node.isPresent(values) {
            json.key(member.name)
            member.node.write(values, to: &json)
        }
    }

    private func write(_ values: PayloadValues, to json: inout JSONWriter) {
        switch self {
        case .literal(let raw): json.raw(raw)
        case .value(let placeholder): values.value(of: placeholder)?.write(to: &json)
        case .text(let segments): json.string(segments.map { $0.text(values) }.joined())
        case .object(let members): json.object { Self.write(members, values, to: &$0) }
        case .array(let nodes):
            json.array { json in
                for node in nodes where node.isPresent(values) { node.write(values, to: &json) }
            }
        case .encoded(let node):
            let inner = JSONWriter.bytes { node.write(values, to: &$0) }
            json.string(String(decoding: inner, as: UTF8.self))
        }
    }
}

extension PayloadTemplate.Segment {
    fileprivate func text(_ values: PayloadValues) -> String {
        switch self {
        case .literal(let text): text
        case .value(let placeholder): values.value(of: placeholder)?.text ?? ""
        }
    }
}

extension PayloadValues {
    fileprivate func value(of placeholder: PayloadTemplate.Placeholder) -> PayloadValue? {
        guard let value = value(of: placeholder.field) else { return nil }
        switch (placeholder.form, value) {
        case (.number, .flag(let flag)): return .number(flag ? 1 : 0)
        case (.string, _): return .text(value.text)
        case (.number, _), (.natural, _): return value
        }
    }
}
