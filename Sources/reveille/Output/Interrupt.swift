import UnixSignals

/// Waits for the terminal's user to have had enough.
enum Interrupt {
    /// Returns on SIGINT or SIGTERM.
    static func wait() async {
        for await _ in await signals() { return }
    }

    /// From its return on, SIGINT and SIGTERM do not end the process any more but come here.
    static func signals() async -> UnixSignalsSequence {
        await UnixSignalsSequence(trapping: .sigint, .sigterm)
    }
}
