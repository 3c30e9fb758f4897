import AdminProtocol
import CallCore
import CallVocabulary

extension DeviceView {
    public init(_ device: DeviceRecord) {
        self.init(
            user: device.key.user, deviceID: device.key.device, platform: device.platform, app: device.app,
            name: device.name, tokens: device.tokens.map { TokenView($0.token, registeredAt: $0.registeredAt) },
            seenAt: Timestamp(device.seenAt), unreportedStreak: device.unreportedStreak,
            suspendedAt: Timestamp(device.suspendedAt), nextProbeAt: Timestamp(device.nextProbeAt))
    }
}
