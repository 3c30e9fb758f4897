import CallVocabulary
import WireJSON

/// Why a payload template cannot be used.
public struct PayloadTemplateError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The names of the members down to the fault; empty for the whole document.
    public let path: [String]
    public let problem: String

    init(_ path: [String], _ problem: String) {
        self.path = path
        self.problem = problem
    }

    init(_ error: JSONSyntaxError) {
        self.init([], "not valid JSON: \(error)")
    }

    public var description: String { path.isEmpty ? problem : "\(path.joined(separator: ".")): \(problem)" }
}

extension PayloadTemplate {
    /// - Parameter path: of the object, for errors.
    init(_ object: JSONValue, _ values: Values, at path: [String]) throws(PayloadTemplateError) {
        var members: [Member] = []
        for (name, value) in try object.templateMembers(at: path) {
            let node = try Node(value, at: path + [name])
            if values == .strings, value.isNull {
                throw PayloadTemplateError(path + [name], "FCM takes strings only; leave the member out")
            }
            members.append(Member(name: name, node: Node(node, values)))
        }
        self.init(members: members)
    }
}

extension PayloadTemplate.Node {
    fileprivate init(_ value: JSONValue, at path: [String]) throws(PayloadTemplateError) {
        switch value.kind {
        case .null, .bool, .integer, .fraction: self = .literal(value.raw)
        case .string:
            let segments = try PayloadTemplate.Segment.parse(value.longString ?? "", at: path)
            self =
                switch segments.first {
                case .value(let placeholder) where segments.count == 1: .value(placeholder)
                case .literal where segments.count == 1: .literal(value.raw)
                case nil: .literal(value.raw)
                case .literal, .value: .text(segments)
                }
        case .object:
            var members: [PayloadTemplate.Member] = []
            for (name, member) in try value.templateMembers(at: path) {
                members.append(PayloadTemplate.Member(name: name, node: try Self(member, at: path + [name])))
            }
            self = .object(members)
        case .array:
            var nodes: [Self] = []
            try value.forEachElement { (element) throws(PayloadTemplateError) in
                nodes.append(try Self(element, at: path + ["\(nodes.count)"]))
            }
            self = .array(nodes)
        }
    }
}

extension PayloadTemplate.Segment {
    fileprivate static func parse(_ text: String, at path: [String]) throws(PayloadTemplateError) -> [Self] {
        var segments: [Self] = []
        var rest = Substring(text)
        while let start = rest.firstRange(of: "${") {
            if start.lowerBound > rest.startIndex { segments.append(.literal(String(rest[..<start.lowerBound]))) }
            guard let end = rest[start.upperBound...].firstIndex(of: "}") else {
                throw PayloadTemplateError(path, "a placeholder begins with ${ and ends with }")
            }
            segments.append(.value(try PayloadTemplate.Placeholder(rest[start.upperBound..<end], at: path)))
            rest = rest[rest.index(after: end)...]
        }
        if !rest.isEmpty { segments.append(.literal(String(rest))) }
        return segments
    }
}

extension PayloadTemplate.Placeholder {
    fileprivate init(_ text: Substring, at path: [String]) throws(PayloadTemplateError) {
        let name = text.prefix { $0 != ":" }
        guard let field = PayloadField(rawValue: String(name)) else {
            let known = PayloadField.allCases.map { "${\($0.rawValue)}" }.joined(separator: ", ")
            throw PayloadTemplateError(path, "there is no placeholder ${\(text)}; known: \(known)")
        }
        guard name.endIndex < text.endIndex else {
            self.init(field: field)
            return
        }
        switch PayloadTemplate.Form(rawValue: String(text[text.index(after: name.endIndex)...])) {
        case .number? where field == .hasVideo: self.init(field: field, form: .number)
        case .string?: self.init(field: field, form: .string)
        case .number?, .natural?, nil:
            throw PayloadTemplateError(path, "the conversions are ${has_video:number} and :string of any placeholder")
        }
    }
}

extension JSONValue {
    /// The members of an object in their order.
    func templateMembers(at path: [String]) throws(PayloadTemplateError) -> [(name: String, value: JSONValue)] {
        guard kind == .object else { throw PayloadTemplateError(path, "expected an object") }
        var members: [(String, JSONValue)] = []
        do {
            var scanner = JSONScanner(bytes)
            try scanner.enterObject()
            while let name = try scanner.nextKey() { members.append((name.longString ?? "", try scanner.value())) }
        } catch {
            throw PayloadTemplateError(error)
        }
        for (index, member) in members.enumerated() where members[..<index].contains(where: { $0.0 == member.0 }) {
            throw PayloadTemplateError(path + [member.0], "this member comes twice")
        }
        return members
    }
}
