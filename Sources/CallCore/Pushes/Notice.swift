import CallVocabulary
import Determinism
import PushVocabulary

/// A push about a missed call: a line of the ledger that belongs to a device and to no leg, for its call is over.
///
/// ```
/// held ─budget allows it─▶ queued ─▶ sent ─▶ settled, and forgotten
///   └──────────┴──▶ cancelled | expired, and forgotten
/// ```
final class Notice: LedgerLine {
    /// What the push says of the call.
    struct Content {
        var from: Handle
        var fromName: String?
        var video: Bool
    }

    let device: Device
    let content: Content
    /// The device has learned of the call in another way, while the push was on the wire or before.
    var isMoot = false
    /// When it may be queued, or, once it is, when it is of no use any more.
    var deadline: DeadlineQueue<Deadline>.Token?

    init(_ record: PushRecord, to device: Device, _ content: Content) {
        self.device = device
        self.content = content
        super.init(record)
    }

    func order(missedCount: Int) -> PushIntent {
        PushIntent(
            id: id, purpose: record.purpose, call: record.call, user: device.key.user, device: device.key.device,
            token: record.token, from: content.from, fromName: content.fromName, video: content.video, custom: nil,
            expiresAt: record.expiresAt, missedCount: missedCount,
            tokenRegisteredAt: device.registration(of: record.token)?.registeredAt)
    }
}
