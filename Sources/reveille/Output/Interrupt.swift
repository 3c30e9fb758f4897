import UnixSignals

/// Waits for the terminal's user to have had enough.
enum Interrupt {
    /// Returns on SIGINT or SIGTERM.
    static func wait() async {
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
        for await _ in signals { return }
    }
}
