import Foundation

/// How far something has come, beside the results: one line written over and over on a terminal, elsewhere a line now and
/// then.
struct ProgressLine {
    private static let pause = Duration.seconds(5)

    private let isRewritten = isatty(STDERR_FILENO) == 1
    private var shownAt: ContinuousClock.Instant?

    mutating func show(_ text: String) {
        guard !isRewritten else { return write(text) }
        let now = ContinuousClock.now
        if let shownAt, now - shownAt < Self.pause { return }
        shownAt = now
        Terminal.complain(text)
    }

    func clear() {
        if isRewritten { write("") }
    }

    private func write(_ text: String) {
        FileHandle.standardError.write(Data("\r\u{1B}[K\(text)".utf8))
    }
}
