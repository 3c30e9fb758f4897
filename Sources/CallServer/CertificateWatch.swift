import EventLoop
import Logging

/// Says once a day which certificates are near their end. Lives on a loop.
final class CertificateWatch {
    private let loop: EventLoop
    private let log: Logger
    private var timer: LoopTimer?

    init(loop: EventLoop, log: Logger) {
        self.loop = loop
        self.log = log
    }

    /// - Parameter warnings: asked each time for what there is to say.
    func begin(every interval: Duration = .seconds(24 * 3600), _ warnings: @escaping () -> [String]) {
        loop.assertIsCurrent()
        timer = LoopTimer(loop: loop) { [weak self, log] in
            for warning in warnings() { log.warning("\(warning)") }
            self?.timer?.start(after: interval)
        }
        timer?.start(after: interval)
    }

    /// The timer has to go on the loop.
    func stop() {
        timer = nil
    }
}

@available(*, unavailable)
extension CertificateWatch: Sendable {}
