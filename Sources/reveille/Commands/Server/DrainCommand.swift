import AdminProtocol
import ArgumentParser
import CallVocabulary

struct DrainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "drain", abstract: "Refuse new calls, wait until live calls have ended, then stop the server.",
        discussion: """
            Clients are told the deadline. The server continues to drain after Ctrl-C, and after the time limit (exit \
            code 1): live calls continue, and the same command resumes the wait. Only a restart ends the draining.

              reveille drain
              reveille drain --timeout 30m
              reveille drain --no-stop
            """)

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The time limit for live calls to end: 1s to 1d.", valueName: "time"),
        transform: TimeSpan.parse) var timeout = Duration.seconds(600)
    @Flag(help: "Do not stop the server after the last call has ended.") var noStop = false
    @OptionGroup var server: ServerOptions

    func validate() throws {
        guard (.seconds(1) ... .seconds(86_400)).contains(timeout) else {
            throw ValidationError("--timeout is 1s to 1d.")
        }
    }

    func run() async throws {
        try await Terminal.reporting {
            try await Administration.with(server) { server in
                let deadline = Drain(deadlineMilliseconds: Int(timeout.wholeMilliseconds))
                _ = try await server.perform(deadline)
                Terminal.complain("the server \(server.address.words) takes no new calls")
                let wait = DrainWait(server: server)
                try await end(wait.untilQuiet(within: timeout), wait)
            }
        }
    }

    private func end(_ outcome: DrainWait.Outcome, _ wait: DrainWait) async throws {
        switch outcome {
        case .quiet where noStop: Terminal.print("no call is live; the server drains on")
        case .quiet:
            guard try await wait.stop() else {
                throw Terminal.failed("the server was told to stop and still answers; look at its log")
            }
            Terminal.print("no call is live; the server has stopped")
        case .timeIsUp(let left):
            throw Terminal.failed("the time is up and the server still drains; \(DrainWait.words(left)) live")
        case .interrupted(let left):
            throw Terminal.failed("given up, and the server still drains; \(DrainWait.words(left)) live")
        case .lost(let words, let left):
            Terminal.complain(
                "reveille: the server went away while it drained (\(words)); \(DrainWait.words(left)) live")
            throw Exit.unavailable
        }
    }
}
