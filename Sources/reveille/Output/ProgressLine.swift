import Foundation

/// Progress on standard error: one line that is rewritten on a terminal, elsewhere a line from time to time.
struct ProgressLine {
    private let isRewritten = isatty(STDERR_FILENO) == 1
    private let pause: Duration
    private var shownAt: ContinuousClock.Instant?

    /// - Parameters:
    ///   - pause: between two lines where no terminal shows them.
    ///   - beginsWithPause: before the first of those too: what is over soon needs none.
    init(pause: Duration = .seconds(5), beginsWithPause: Bool = false) {
        self.pause = pause
        shownAt = beginsWithPause ? .now : nil
    }

    mutating func show(_ text: String) {
        // A line that fills the last column as well would go on in the next, and stay.
        let text = text.shown
        guard !isRewritten else { return write(text.shortened(to: Self.width - 1)) }
        let now = ContinuousClock.now
        if let shownAt, now - shownAt < pause { return }
        shownAt = now
        Terminal.complain(text)
    }

    func clear() {
        if isRewritten { write("") }
    }

    private func write(_ text: String) {
        // The terminal may be gone: nobody looks then.
        _ = StandardStream.write("\r\u{1B}[K\(text)", to: STDERR_FILENO)
    }

    /// Of the terminal as it is now: it may have been made narrower.
    private static var width: Int {
        var size = winsize()
        guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 1 else { return 80 }
        return Int(size.ws_col)
    }
}
