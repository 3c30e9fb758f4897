import Configuration

/// What options of the command line say; what is nil, empty or false was not given.
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
