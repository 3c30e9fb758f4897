import Configuration
import OutgoingHTTP
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
        return Self.redacted(value.text, setting) ?? value.text
    }

    /// The value as JSON has it: a number, a boolean, a text or an array of texts; a secret is not shown.
    public func plain(_ setting: Setting) -> (any Sendable)? {
        guard let value = self[setting].value else { return nil }
        if let redacted = Self.redacted(value.text, setting) { return redacted }
        return switch value {
        case .int(let value): value
        case .bool(let value): value
        case .stringArray(let values): values
        default: value.text
        }
    }

    /// What is shown of a secret, or of a value that may have one in the wrong place; nil for any other value. Of an
    /// address, all but its secrets is shown.
    private static func redacted(_ text: String, _ setting: Setting) -> String? {
        if PostgresAddress.isAddress(text) { return PostgresAddress.redacted(text) }
        if setting.isSecret { return WebAddress(text)?.description ?? "<redacted>" }
        return setting.hasSecret(in: text) ? "<redacted>" : nil
    }

    /// The address of a database that a command names, for connections as the settings allow them.
    /// - Returns: nil for a text that is none.
    public func database(_ uri: String, realm: String) -> PostgresAddress? {
        var address = PostgresAddress(uri, realm: realm)
        address?.allowsUnencrypted = flag(.storeUnencryptedDatabase)
        return address
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
