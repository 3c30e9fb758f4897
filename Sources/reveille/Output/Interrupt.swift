import Glibc
import UnixSignals

/// Waits for SIGINT or SIGTERM.
enum Interrupt {
    /// Returns on SIGINT or SIGTERM.
    static func wait() async {
        for await _ in await signals() { return }
    }

    /// From its return on, SIGINT and SIGTERM do not end the process any more but come here.
    static func signals() async -> UnixSignalsSequence {
        await UnixSignalsSequence(trapping: .sigint, .sigterm)
    }

    /// The same with SIGHUP, which the end of a terminal sends to what was started there; not where it is ignored
    /// (nohup(1)): that is to go on.
    static func signalsAndHangups() async -> UnixSignalsSequence {
        var hangups = sigaction()
        sigaction(SIGHUP, nil, &hangups)
        // Proof: a C function pointer is as large as an Int; SIG_IGN is 1, which is no function (signal.h).
        let areIgnored = unsafeBitCast(hangups.__sigaction_handler.sa_handler, to: Int.self) == 1
        return areIgnored ? await signals() : await UnixSignalsSequence(trapping: .sigint, .sigterm, .sighup)
    }
}
