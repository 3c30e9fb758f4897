/// What is wrong with a setting: where it was said, why it cannot be used, and what to do.
public struct SettingsFault: Equatable, Sendable, CustomStringConvertible {
    public enum Kind: Equatable, Sendable {
        /// The value itself, or the values that go with it.
        case value
        /// What the value names is there, and of no use: the content of a file, say.
        case content
        /// The server starts nevertheless.
        case warning
    }

    public let kind: Kind
    public let origin: SettingOrigin
    /// nil for a fault of the file as a whole.
    public let key: String?
    public let reason: String
    public let advice: String?

    init(_ kind: Kind = .value, at origin: SettingOrigin, key: String?, _ reason: String, _ advice: String? = nil) {
        self.kind = kind
        self.origin = origin
        self.key = key
        self.reason = reason
        self.advice = advice
    }

    public var isWarning: Bool { kind == .warning }

    /// `FILE:LINE: key: reason; what to do`. An option or a variable says the key by its name.
    public var description: String {
        let words = advice.map { "\(reason); \($0)" } ?? reason
        let place: String? =
            switch origin {
            case .file(let path, let line): ["\(path):\(line)", key].compactMap(\.self).joined(separator: ": ")
            case .environment, .flag: origin.description
            case .standard: key
            }
        return place.map { "\($0): \(words)" } ?? words
    }
}
