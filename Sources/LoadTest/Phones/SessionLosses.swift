import SoftphoneKit
import SoftphoneSession

/// Phones without their session. A loss counts once, however often the phone fails to reconnect.
/// Confined to the phones' loop.
struct SessionLosses {
    private var isLost: [Bool]

    init(count: Int) { isLost = Array(repeating: false, count: count) }

    /// A phone has its session, or begins a new one.
    mutating func isBack(_ phone: Int) { isLost[phone] = false }

    /// Why a phone has lost its session by `event`; nil where it has not, or had before.
    mutating func reason(_ event: SoftphoneEvent, of phone: Int) -> String? {
        guard case .connection(let change) = event else { return nil }
        let wasLost = isLost[phone]
        switch change {
        case .up, .resumed, .offline:
            isLost[phone] = false
            return nil
        case .down(_, let reason, _):
            isLost[phone] = true
            return wasLost ? nil : reason
        case .gone(let reason):
            isLost[phone] = true
            return wasLost ? nil : "\(reason)"
        }
    }
}
