import EventLoop
import Logging

/// Logs once a day which certificates expire soon. Confined to a loop.
final class CertificateWatch {
    private let loop: EventLoop
    private let log: Logger
    private var timer: LoopTimer?

    init(loop: EventLoop, log: Logger) {
        self.loop = loop
        self.log = log
    }

    /// - Parameter warnings: called each time for the present warnings.
    func begin(every interval: Duration = .seconds(24 * 3600), _ warnings: @escaping () -> [String]) {
        loop.assertIsCurrent()
        timer = LoopTimer(loop: loop) { [weak self, log] in
            for warning in warnings() { log.warning("\(warning)") }
            self?.timer?.start(after: interval)
        }
        timer?.start(after: interval)
    }

    /// Stops the timer, which must be released on the loop.
    func stop() {
        timer = nil
    }
}

@available(*, unavailable)
extension CertificateWatch: Sendable {}
