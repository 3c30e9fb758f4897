import Configuration

/// The values of command-line options; nil, empty or false for an absent option.
public struct SettingFlags: Sendable {
    var values: [String: ConfigContent] = [:]

    public init() {}

    package mutating func set(_ setting: Setting, _ value: String?) {
        if let value { values[setting.key] = .string(value) }
    }

    package mutating func set(_ setting: Setting, _ value: (some BinaryInteger)?) {
        if let value { values[setting.key] = .int(Int(clamping: value)) }
    }

    package mutating func set(_ setting: Setting, _ values: [String]) {
        if !values.isEmpty { self.values[setting.key] = .stringArray(values) }
    }

    package mutating func set(_ setting: Setting, isGiven: Bool) {
        if isGiven { values[setting.key] = .bool(true) }
    }
}
