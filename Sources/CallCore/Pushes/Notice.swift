import CallVocabulary
import Determinism
import PushVocabulary

/// A push about a missed call: a line of the ledger that belongs to a device and to no leg, because its call has ended.
///
/// ```
/// held ─budget allows it─▶ queued ─▶ sent ─▶ settled, and forgotten
///   └──────────┴──▶ cancelled | expired, and forgotten
/// ```
final class Notice: LedgerLine {
    /// The call's data in the push.
    struct Content {
        var from: Handle
        var fromName: String?
        var video: Bool
    }

    let device: Device
    let content: Content
    /// The device has learned of the call in another way, before or while the push was sent.
    var isMoot = false
    /// When a held notice may be queued, or a queued one expires.
    var deadline: DeadlineQueue<Deadline>.Token?

    init(_ record: PushRecord, to device: Device, _ content: Content) {
        self.device = device
        self.content = content
        super.init(record)
    }

    /// Background pushes count against the device's budget.
    override func noteWritten(in generation: UInt64) { device.user.generation = generation }

    func order(missedCount: Int) -> PushIntent {
        PushIntent(
            id: id, purpose: record.purpose, call: record.call, user: device.key.user, device: device.key.device,
            token: record.token, from: content.from, fromName: content.fromName, video: content.video, custom: nil,
            expiresAt: record.expiresAt, missedCount: missedCount,
            tokenRegisteredAt: device.registration(of: record.token)?.registeredAt)
    }
}
