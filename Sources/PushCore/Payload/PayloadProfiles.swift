import CallVocabulary

/// The profiles that a server knows, and which one a push gets. Immutable.
public struct PayloadProfiles: Sendable {
    private var byName: [String: PayloadProfile]
    /// By topic or Firebase project.
    private var byTopic: [String: PayloadProfile] = [:]

    /// The built-in profiles.
    public init() {
        byName = Dictionary(uniqueKeysWithValues: PayloadProfile.builtIn.map { ($0.name, $0) })
    }

    /// The names, sorted.
    public var names: [String] { byName.keys.sorted() }

    public subscript(name: String) -> PayloadProfile? { byName[name] }

    /// Adds a profile of the configuration.
    /// - Returns: false, without a change, when there is one of that name.
    public mutating func add(_ profile: PayloadProfile) -> Bool {
        guard byName[profile.name] == nil else { return false }
        byName[profile.name] = profile
        return true
    }

    /// Chooses the profile for all pushes to a topic or Firebase project. A bundle id includes its VoIP topic.
    /// - Returns: false, without a change, when there is no profile of that name.
    public mutating func choose(_ name: String, forTopic topic: String) -> Bool {
        guard let profile = byName[name] else { return false }
        byTopic[topic] = profile
        return true
    }

    /// The profile of a device's token: the device's own choice, or that of its topic, or `reveille`. A choice of a
    /// profile that the configuration no longer has counts as none.
    public func profile(for token: PushToken) -> PayloadProfile {
        if let chosen = token.profile, let profile = byName[chosen] { return profile }
        if byTopic.isEmpty { return .reveille }
        return byTopic[token.topic] ?? byTopic[token.bundle] ?? .reveille
    }
}

extension PushToken {
    /// The topic without the suffix of VoIP topics.
    fileprivate var bundle: String {
        topic.hasSuffix(Self.voipSuffix) ? String(topic.dropLast(Self.voipSuffix.count)) : topic
    }
}
