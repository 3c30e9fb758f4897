/// The values of `apns-push-type` that the simulated phones support.
public enum APNSPushType: String, Sendable, CaseIterable {
    case alert, background, voip

    /// The longest payload, in bytes.
    public var payloadLimit: Int {
        switch self {
        case .voip: 5120
        case .alert, .background: 4096
        }
    }

    /// Whether the topic suits the type: VoIP pushes, and no others, go to `<bundle>.voip`.
    ///
    /// Since iOS 13, APNs answers `InvalidPushType` to an alert on a VoIP topic (observed).
    public func fits(topic: String) -> Bool {
        switch self {
        case .voip: topic.hasSuffix(Self.voipSuffix)
        case .alert, .background: !topic.hasSuffix(Self.voipSuffix)
        }
    }

    /// The type of a request without the header: Apple requires the header for watchOS only.
    public init(impliedBy topic: String) {
        self = topic.hasSuffix(Self.voipSuffix) ? .voip : .alert
    }

    static let voipSuffix = ".voip"
}
