import CallVocabulary

/// A problem with a setting: its source, the reason, and advice.
public struct SettingsFault: Equatable, Sendable, CustomStringConvertible {
    public enum Kind: Equatable, Sendable {
        /// The value itself is invalid, or conflicts with others.
        case value
        /// The value refers to something unusable, such as a file with invalid content.
        case content
        /// The server starts in spite of it.
        case warning
        /// As ``warning``, and a running server warns of it by itself.
        case expiry
    }

    public let kind: Kind
    public let origin: SettingOrigin
    /// nil for a fault of the whole file.
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

    public var isWarning: Bool { kind == .warning || kind == .expiry }

    /// `FILE:LINE: key: reason; what to do`. An option or a variable says the key by its name.
    public var description: String {
        let words = advice.map { "\(reason.clause); \($0)" } ?? reason
        let place: String? =
            switch origin {
            case .file(let path, let line): ["\(path):\(line)", key].compactMap(\.self).joined(separator: ": ")
            case .environment, .flag: origin.description
            case .standard: key
            }
        return place.map { "\($0): \(words)" } ?? words
    }
}
