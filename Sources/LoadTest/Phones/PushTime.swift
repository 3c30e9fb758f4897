import Foundation
import PushSimulator

extension PhoneLink.Push {
    /// When the simulator sent it to the phone, by this process's clock: the simulator's wall clock is the same
    /// machine's.
    var delivered: ContinuousClock.Instant {
        let now = ContinuousClock.now
        let age = Int64(Date().timeIntervalSince1970 * 1_000_000) - deliveredMicroseconds
        return now - .microseconds(max(0, age))
    }
}
