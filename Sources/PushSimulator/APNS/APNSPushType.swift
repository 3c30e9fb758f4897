/// What `apns-push-type` says a push is, for the types the simulated phones understand.
public enum APNSPushType: String, Sendable, CaseIterable {
    case alert, background, voip

    /// The longest payload, in bytes.
    public var payloadLimit: Int {
        switch self {
        case .voip: 5120
        case .alert, .background: 4096
        }
    }

    /// Whether the topic is one this type is sent on: VoIP pushes go to `<bundle>.voip`, and nothing else does.
    ///
    /// APNs answers `InvalidPushType` since iOS 13 when an alert is sent on a VoIP topic, seen in practice.
    public func fits(topic: String) -> Bool {
        switch self {
        case .voip: topic.hasSuffix(Self.voipSuffix)
        case .alert, .background: !topic.hasSuffix(Self.voipSuffix)
        }
    }

    /// What a request without the header is taken for: Apple made it mandatory for watchOS only.
    public init(impliedBy topic: String) {
        self = topic.hasSuffix(Self.voipSuffix) ? .voip : .alert
    }

    static let voipSuffix = ".voip"
}
