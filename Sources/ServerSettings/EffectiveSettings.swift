import Configuration
import StoreInterface

/// The effective value of each setting, and its source.
public struct EffectiveSettings: Sendable {
    public struct Entry: Equatable, Sendable {
        /// nil when the setting is unset and has no fixed default.
        public var value: ConfigContent?
        public var origin: SettingOrigin
    }

    private var entries: [String: Entry] = [:]

    public subscript(_ setting: Setting) -> Entry {
        get { entries[setting.key] ?? Entry(value: setting.standard, origin: .standard) }
        set { entries[setting.key] = newValue }
    }

    /// Whether a source sets the value, valid or not.
    package func isSet(_ setting: Setting) -> Bool { self[setting].origin != .standard }

    // A value of another type never gets here: the sources are asked for the setting's own.

    func integer(_ setting: Setting) -> Int? {
        guard case .int(let value) = self[setting].value else { return nil }
        return value
    }

    func flag(_ setting: Setting) -> Bool { self[setting].value == .bool(true) }

    /// The text of a setting that is no number; nil when nothing was said.
    public func text(_ setting: Setting) -> String? {
        guard case .string(let value) = self[setting].value else { return nil }
        return value
    }

    func list(_ setting: Setting) -> [String] {
        guard case .stringArray(let value) = self[setting].value else { return [] }
        return value
    }

    /// The value as the file would say it; a secret is not shown.
    public func shown(_ setting: Setting) -> String {
        guard let value = self[setting].value else { return "" }
        return setting.isSecret ? Self.redacted(value.text, setting) : value.text
    }

    /// The value as JSON has it: a number, a boolean, a text or an array of texts; a secret is not shown.
    public func plain(_ setting: Setting) -> (any Sendable)? {
        switch self[setting].value {
        case nil: nil
        case .some(let value) where setting.isSecret: Self.redacted(value.text, setting)
        case .int(let value)?: value
        case .bool(let value)?: value
        case .stringArray(let values)?: values
        case .some(let value): value.text
        }
    }

    /// Of an address, all but its secrets is shown.
    private static func redacted(_ text: String, _ setting: Setting) -> String {
        setting.key == Setting.store.key ? PostgresAddress.redacted(text) : "<redacted>"
    }
}

extension ConfigContent {
    /// As a configuration file says it.
    var text: String {
        switch self {
        case .string(let value): value
        case .int(let value): "\(value)"
        case .double(let value): "\(value)"
        case .bool(let value): "\(value)"
        case .stringArray(let values): "[\(values.joined(separator: ", "))]"
        // No setting is of these types.
        case .bytes, .intArray, .doubleArray, .boolArray, .byteChunkArray: ""
        }
    }
}
