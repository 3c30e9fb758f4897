import Foundation
import Synchronization

/// The progress of a copy in percent, on a terminal only.
final class CopyProgressLine: Sendable {
    private static let interval = Duration.milliseconds(200)

    private let verb: String
    private let isShown: Bool
    private let next = Mutex(ContinuousClock.now)

    init(_ verb: String) {
        self.verb = verb
        isShown = isatty(STDERR_FILENO) == 1
    }

    func show(_ written: Int64, of total: Int64) {
        guard isShown, total > 0 else { return }
        let isDue = next.withLock { next in
            let now = ContinuousClock.now
            guard now >= next else { return false }
            next = now + Self.interval
            return true
        }
        guard isDue else { return }
        // Pages at the ends of tables make a copy a little smaller or larger than was foreseen.
        write("\r\u{1B}[K\(verb): \(min(99, written * 100 / total)) %")
    }

    func clear() {
        if isShown { write("\r\u{1B}[K") }
    }

    private func write(_ text: String) { FileHandle.standardError.write(Data(text.utf8)) }
}
