import Configuration
import EventLoop
import Foundation
import StoreInterface
import Yams

/// A configuration file, in YAML: `listen.port: 7350`, or `port: 7350` below `listen:`.
struct SettingsFile {
    /// The file cannot be read or parsed.
    struct Unreadable: Error, CustomStringConvertible {
        let description: String
    }

    /// The text has an alias.
    struct AliasUse: Error {
        let line: Int
        static let reason = "has an alias (*name)"
        static let advice = "write in its place what it stands for"
    }

    /// The size limit, in bytes: a larger file is a wrong path.
    private static let longest = 1024 * 1024
    /// Put before a repeated key: Yams reads no mapping with equal keys. A private-use character, and so in no key.
    private static let repeatMark: Character = "\u{E000}"
    /// The most repeated keys that are marked. Beyond them reading ends with the next one.
    private static let mostMarks = 100

    let path: String
    private(set) var values: [AbsoluteConfigKey: ConfigValue] = [:]
    /// The line of each setting in the file, valid or not.
    private(set) var lines: [String: Int] = [:]
    private(set) var faults: [SettingsFault] = []
    /// Whether it has not even a comment, as a full disk or a broken deployment leaves it.
    let isBlank: Bool

    /// - Throws: ``Unreadable``.
    init(path: String) throws {
        let remedy = "check path and permissions, or name another with --config"
        let found: [UInt8]?
        do throws(SystemError) {
            found = try PrivateFile.read(path, longest: Self.longest)
        } catch {
            throw Unreadable(description: "\(path): cannot be read (\(error)); \(error.machineRemedy ?? remedy)")
        }
        guard let bytes = found else { throw Unreadable(description: "\(path): cannot be read; \(remedy)") }
        guard let text = String(data: Data(bytes), encoding: .utf8) else {
            throw Unreadable(description: "\(path): is not text; the configuration is given in YAML")
        }
        self.init(path: path, text: text)
    }

    init(path: String, text: String) {
        self.path = path
        isBlank = Self.isBlank(text)
        do {
            guard let root = try Self.compose(text) else { return }
            guard let mapping = root.mapping else {
                // The root of a file with only comments is an empty scalar.
                if root.scalar?.string.isEmpty != true {
                    fault(line: root.mark?.line ?? 1, key: nil, "has no settings", "give them as 'key: value'")
                }
                return
            }
            read(mapping, below: [])
        } catch {
            faults.append(Self.fault(error, path: path))
        }
    }

    static func isBlank(_ text: String) -> Bool { text.utf8.allSatisfy { $0 <= UInt8(ascii: " ") } }

    /// Parses the text. Repeated keys are marked, so that one of them does not hide the file's other faults.
    private static func compose(_ text: String) throws -> Node? {
        var text = text
        for _ in 0..<mostMarks {
            do {
                return try composeOnce(text)
            } catch YamlError.duplicatedKeysInMapping(_, let context) {
                guard let place = index(of: context.mark, in: text) else { break }
                text.insert(repeatMark, at: place)
            }
        }
        return try composeOnce(text)
    }

    /// Parses YAML without aliases: a few lines of them stand for millions of nodes, which Yams (6.2) compares one by one to
    /// find equal keys.
    static func composeOnce(_ text: String) throws -> Node? {
        if let line = line(ofAliasIn: Array(text.utf8)) { throw AliasUse(line: line) }
        return try Yams.compose(yaml: text)
    }

    /// The line of the first `*name` for which there is an `&name`, in whatever place; nil if there is none.
    private static func line(ofAliasIn bytes: [UInt8]) -> Int? {
        let anchors = Set(names(after: UInt8(ascii: "&"), in: bytes).map { $0.name })
        guard !anchors.isEmpty else { return nil }
        let alias = names(after: UInt8(ascii: "*"), in: bytes).first { anchors.contains($0.name) }
        return alias.map { alias in bytes[..<alias.place].count { $0 == UInt8(ascii: "\n") } + 1 }
    }

    /// The names of anchors have these bytes in libYAML (`IS_ALPHA` of `yaml_private.h`).
    private static func names(after mark: UInt8, in bytes: [UInt8]) -> [(name: ArraySlice<UInt8>, place: Int)] {
        bytes.indices.filter { bytes[$0] == mark }.compactMap { place in
            let name = bytes[(place + 1)...].prefix { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
            return name.isEmpty ? nil : (name: name, place: place)
        }
    }

    /// Where a key begins, behind its quotation mark if it has one.
    private static func index(of mark: Mark, in text: String) -> String.Index? {
        var line = 1
        var place = text.startIndex
        while line < mark.line {
            guard let end = text[place...].firstIndex(where: \.isNewline) else { return nil }
            place = text.index(after: end)
            line += 1
        }
        guard let start = text.unicodeScalars.index(place, offsetBy: mark.column - 1, limitedBy: text.endIndex),
            start < text.endIndex
        else { return nil }
        return text[start] == "\"" || text[start] == "'" ? text.index(after: start) : start
    }

    private mutating func read(_ mapping: Node.Mapping, below group: [String]) {
        for (name, value) in mapping {
            let line = name.mark?.line ?? 1
            guard let marked = name.string else {
                fault(line: line, key: nil, "a key is not text", "give the settings as 'key: value'")
                continue
            }
            let text = marked.drop { $0 == Self.repeatMark }
            let path = group + text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
            let key = path.joined(separator: ".")
            if let setting = Setting.byKey[key] {
                read(setting, value, line: line)
            } else if Setting.all.contains(where: { $0.key.hasPrefix(key + ".") }) {
                if marked.first == Self.repeatMark {
                    fault(line: line, key: key, "is given more than once", "keep one of them")
                }
                readGroup(key, value, path, line: line)
            } else {
                let nearest = NearestKey.ofSetting(key)
                // On a line without a key this is the value, which may be a secret.
                fault(
                    line: line, key: ShownText.mayHaveSecret(key) ? nil : key, "there is no such setting",
                    nearest.map { "did you mean \($0)?" } ?? "see reveille config reference")
            }
        }
    }

    private mutating func readGroup(_ key: String, _ value: Node, _ path: [String], line: Int) {
        if let inner = value.mapping {
            read(inner, below: path)
        } else if value.scalar?.string.isEmpty != true {
            let some = Setting.all.first { $0.key.hasPrefix(key + ".") }
            fault(
                line: line, key: key, "is a group of settings",
                "give them below it, or as \(some.map { "'\($0.key): …'" } ?? "'key: value'")")
        }
    }

    private mutating func read(_ setting: Setting, _ node: Node, line: Int) {
        if let first = lines[setting.key] {
            return fault(line: line, key: setting.key, "was given in line \(first) already", "keep one of them")
        }
        lines[setting.key] = line
        if node.scalar?.string.isEmpty == true, node.scalar?.style == .plain {
            return fault(line: line, key: setting.key, "has no value", "\(setting.wanted), or take the line out")
        }
        guard let value = content(node, of: setting) else {
            let reason =
                switch node {
                case .scalar(let scalar): setting.mismatch(scalar.string)
                case .sequence: "a list is of no use here"
                case .mapping: "it has no settings below it"
                case .alias: "an alias is of no use here"
                }
            return fault(line: line, key: setting.key, reason, setting.wanted)
        }
        if let objection = setting.objection(to: value) {
            return fault(line: line, key: setting.key, objection, setting.wanted)
        }
        values[setting.configKey] = ConfigValue(value, isSecret: setting.isSecret)
    }

    private func content(_ node: Node, of setting: Setting) -> ConfigContent? {
        switch (setting.kind, node) {
        case (.integer, .scalar(let scalar)): Int(scalar.string).map { .int($0) }
        case (.flag, .scalar(let scalar)): Bool.construct(from: scalar).map { .bool($0) }
        case (.text, .scalar(let scalar)), (.choice, .scalar(let scalar)), (.address, .scalar(let scalar)),
            (.addressOrOff, .scalar(let scalar)):
            .string(scalar.string)
        case (.path, .scalar(let scalar)): .string(absolute(scalar.string))
        case (.paths, .scalar(let scalar)): .stringArray([absolute(scalar.string)])
        case (.paths, .sequence(let nodes)):
            nodes.allSatisfy { $0.scalar != nil }
                ? .stringArray(nodes.compactMap { $0.scalar.map { absolute($0.string) } }) : nil
        default: nil
        }
    }

    /// A path in the file is relative to the file.
    private func absolute(_ path: String) -> String {
        // An address in place of a folder is refused later.
        guard !path.isEmpty, !path.hasPrefix("/"), !PostgresAddress.isAddress(path) else { return path }
        guard let slash = self.path.lastIndex(of: "/") else { return path }
        return self.path[...slash] + path
    }

    private mutating func fault(line: Int, key: String?, _ reason: String, _ advice: String) {
        faults.append(SettingsFault(at: .file(path: path, line: line), key: key, reason, advice))
    }

    private static func fault(_ error: any Error, path: String) -> SettingsFault {
        if case YamlError.duplicatedKeysInMapping(let keys, let context) = error {
            return SettingsFault(
                at: .file(path: path, line: context.mark.line),
                key: keys.first.map { String($0.drop { $0 == repeatMark }) }, "is given more than once",
                "keep one of them")
        }
        if let use = error as? AliasUse {
            return SettingsFault(at: .file(path: path, line: use.line), key: nil, AliasUse.reason, AliasUse.advice)
        }
        let (line, words) = problem(error)
        return SettingsFault(
            at: .file(path: path, line: line), key: nil, "is not YAML: \(words)",
            "look at this line and the one before it")
    }

    /// Where a text is not YAML, and libYAML's message. The error's own description would quote the line, which may have
    /// a secret.
    static func problem(_ error: any Error) -> (line: Int, words: String) {
        switch error {
        case YamlError.scanner(_, let problem, let mark, _), YamlError.parser(_, let problem, let mark, _),
            YamlError.composer(_, let problem, let mark, _):
            (mark.line, problem)
        case YamlError.duplicatedKeysInMapping(_, let context): (context.mark.line, "a key is given more than once")
        default: (1, "it has characters that YAML does not allow")
        }
    }
}
