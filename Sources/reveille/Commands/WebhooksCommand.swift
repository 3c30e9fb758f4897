import AdminProtocol
import ArgumentParser
import CallVocabulary

struct WebhooksCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "webhooks", abstract: "List, test, pause, resume and replay webhook endpoints.",
        discussion: """
            The setting webhooks.file names the file with the endpoints. Needs a running server.

              reveille webhooks list
              reveille webhooks test billing
              reveille webhooks replay billing --since 2h
            """,
        subcommands: [List.self, Show.self, Test.self, Replay.self, Pause.self, Resume.self])

    struct Endpoint: ParsableArguments {
        @Argument(help: "The endpoint's name.") var name: String
        @OptionGroup var server: ServerOptions

        var missing: String { "no webhook endpoint \(name.shown); see reveille webhooks list" }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the endpoints with their state and backlog.", discussion: "  reveille webhooks list")

        @OptionGroup var output: OutputOptions
        @OptionGroup var server: ServerOptions

        func run() async throws {
            let found = try await Administration.ask(ListWebhooks(), of: server)
            try output.format.write(
                "endpoints", found.endpoints, table: WebhookText.table, none: "no endpoints; webhooks.file names them")
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show one endpoint: its events, deliveries and last failure.",
            discussion: "  reveille webhooks show billing")

        @OptionGroup var endpoint: Endpoint
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let found = try await Administration.ask(ListWebhooks(), of: endpoint.server)
            guard let view = found.endpoints.first(where: { $0.name == endpoint.name }) else {
                throw Terminal.failed(endpoint.missing)
            }
            try output.format.write("endpoint", view, text: WebhookText.details)
        }
    }

    struct Test: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Send a test message and show the answer.",
            discussion: """
                The message has the type webhook.test. The exit code is 0 only if the answer has a status of 200 to 299.

                  reveille webhooks test billing
                """)

        @OptionGroup var endpoint: Endpoint

        func run() async throws {
            let request = TestWebhook(endpoint.name)
            let result = try await Administration.ask(request, of: endpoint.server, missing: endpoint.missing)
            let time = result.tookMilliseconds.map { " after \($0) ms" } ?? ""
            let answer =
                result.status.map { "answered \($0)\(time)" } ?? "gave no answer: \(result.failure ?? "unknown")"
            guard result.isTaken else {
                throw Terminal.failed("\(endpoint.name.shown) \(answer); expected a status of 200 to 299")
            }
            Terminal.print("\(endpoint.name.shown) \(answer)")
        }
    }

    struct Replay: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Send all events since a time again, in order.",
            discussion: """
                A repeated event has its original webhook-id. The store keeps events for retention.events_days only.

                  reveille webhooks replay billing --since 2h
                """)

        @OptionGroup var endpoint: Endpoint
        @Option(
            help: ArgumentHelp("The time of the first event: \(PointInTime.help).", valueName: "time"),
            transform: PointInTime.parse) var since: Instant

        func validate() throws {
            guard since <= Moment.now else {
                throw ValidationError("--since: \(Moment.text(since)) is yet to come; give a time that is over.")
            }
        }

        func run() async throws {
            let request = ReplayWebhook(endpoint.name, since: since)
            _ = try await Administration.ask(request, of: endpoint.server, missing: endpoint.missing)
            Terminal.print("\(endpoint.name.shown) gets the events since \(Moment.text(since)) again")
        }
    }

    struct Pause: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Stop sending events until resume; they wait in the store.",
            discussion: "  reveille webhooks pause billing")

        @OptionGroup var endpoint: Endpoint

        func run() async throws {
            let request = PauseWebhook(endpoint.name)
            _ = try await Administration.ask(request, of: endpoint.server, missing: endpoint.missing)
            Terminal.print("\(endpoint.name.shown) is paused")
        }
    }

    struct Resume: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Send events again to an endpoint that is paused, disabled or failing.",
            discussion: """
                Events that wait for a retry are sent now.

                  reveille webhooks resume billing
                """)

        @OptionGroup var endpoint: Endpoint

        func run() async throws {
            let request = ResumeWebhook(endpoint.name)
            _ = try await Administration.ask(request, of: endpoint.server, missing: endpoint.missing)
            Terminal.print("\(endpoint.name.shown) gets what waits for it now")
        }
    }
}
