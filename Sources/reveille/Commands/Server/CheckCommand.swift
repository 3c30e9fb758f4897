import AdminProtocol
import ArgumentParser

struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Check the health of the running server, for monitoring.",
        discussion: """
            The server has a list of its problems, the one of stats, top and the log: a critical problem is critical, \
            another one a warning. Beside it figures can be judged, each by a limit WARNING:CRITICAL. Either may be left \
            out (5, :15). A figure equal to a limit is over it.

            Exit codes follow monitoring plugins: 0 ok, 1 warning, 2 critical, 3 unknown. A server that does not answer \
            is critical. A server that stands by has no figures, and is judged by its problems; ask it on its own machine. A \
            server that refuses access or has another version is unknown. A wrong command line is 64, \
            which monitoring systems treat as unknown.

              reveille check
              reveille check --ignore no_standby --oldest-push 3:10
              reveille check --output prometheus
            """)

    enum Format: String, ExpressibleByArgument, CaseIterable {
        case nagios, prometheus, json
    }

    @Option(help: "nagios: one line with performance data; prometheus: for a textfile collector; json.")
    var output = Format.nagios
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("How long to wait for the server's answer: 1s to 5m.", valueName: "time"),
        transform: TimeSpan.parse) var timeout = Duration.seconds(8)
    @OptionGroup(title: "Limits") var limits: CheckOptions
    @OptionGroup var server: ServerOptions

    func validate() throws {
        guard (.seconds(1) ... .seconds(300)).contains(timeout) else { throw ValidationError("--timeout is 1s to 5m.") }
    }

    func run() async throws {
        // Monitoring systems stop a plugin, mostly after ten seconds.
        let end = ContinuousClock.now + timeout
        let report: CheckReport
        do {
            let stats = try await Administration.with(server, patience: timeout) {
                try await $0.perform(GetStats())
            }
            report = CheckReport(stats, limits)
        } catch let problem as AdminProblem {
            let left = Int(ContinuousClock.now.duration(to: end).components.seconds)
            if problem.kind == .unreachable, left > 0, let socket = try server.address().socket,
                let standby = ReadinessView.read(at: socket, seconds: min(2, left)), !standby.isHome
            {
                report = CheckReport(standby, limits)
            } else {
                report = CheckReport(problem)
            }
        }
        switch output {
        case .nagios: Terminal.print(CheckText.nagios(report))
        case .prometheus: Terminal.print(CheckText.prometheus(report))
        case .json: try JSONOutput.document(report)
        }
        if report.status != .ok { throw ExitCode(report.status.rawValue) }
    }
}
