import SoftphoneKit

extension Recorder {
    /// Counts `event` if it is a connection that was lost without being meant to be.
    func noteLoss(_ event: SoftphoneEvent) {
        guard case .connection(let change) = event else { return }
        switch change {
        case .down(_, let reason, _): fault("session lost: \(reason)")
        case .gone(let reason): fault("session lost: \(reason)")
        case .up, .resumed, .offline: break
        }
    }
}
