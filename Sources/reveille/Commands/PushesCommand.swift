import AdminProtocol
import ArgumentParser
import CallVocabulary

struct PushesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pushes", abstract: "Look at the push ledger.",
        discussion: """
            Read from the data folder, whether a server runs on it or not, or over the admin API of the server that --server \
            names.

              reveille pushes list --open
              reveille pushes audit
            """,
        subcommands: [List.self, Show.self, Audit.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List pushes, newest first.",
            discussion: """
                  reveille pushes list --open
                  reveille pushes list --status rejected --user bob
                  reveille pushes list --purpose missed_call --output jsonl
                """)

        @Flag(help: "Only those something may still become of.") var open = false
        @Option(
            help: "Only those of this call: its id, or the first or last digits of it.", completion: KnownIDs.calls,
            transform: IDPart<CallSubject>.init(argument:)) var call: IDPart<CallSubject>?
        @Option(
            help: "Only those to this user.", completion: KnownIDs.users, transform: Handle.init(argument:))
        var user: Handle?
        @Option(help: "Only those for this: a call that rings, a missed one, or to bring the app up to date.")
        var purpose: PushPurpose?
        @Option(help: "Only those that stand so with the provider.") var status: ProviderStatus?
        @Option(help: "Only those of which the device has said this.") var report: ReportStatus?
        @Option(help: "At most so many.") var limit = 50
        @OptionGroup var output: OutputOptions
        @OptionGroup var server: ServerOptions

        func validate() throws {
            guard (1...1_000_000).contains(limit) else { throw ValidationError("--limit is 1 to 1000000.") }
        }

        func run() async throws {
            try await Terminal.reporting {
                let pushes = try await StoredRecords.with(server) { records in
                    var query = ListPushes(
                        purpose: purpose, status: status, report: report, user: user, open: open ? true : nil)
                    if let call { query.callID = try await records.callID(call) }
                    return try await records.pushes(query, limit: limit)
                }
                try output.format.write(
                    "pushes", pushes.items, table: PushText.table, none: "no such pushes", hasMore: pushes.hasMore)
            }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show one push: all that the ledger has of it, and what a rejection means.",
            discussion: """
                Exit code 1 when there is no such push.

                  reveille pushes show 7c1d22aa
                  reveille pushes show 7c1d22aa --output json
                """)

        @Argument(
            help: "The push's id, which is also its apns-id, or the first or last digits of it.",
            completion: KnownIDs.pushes, transform: IDPart<PushSubject>.init(argument:)) var id: IDPart<PushSubject>
        @OptionGroup var output: OutputOptions
        @OptionGroup var server: ServerOptions

        func run() async throws {
            try await Terminal.reporting {
                let push = try await StoredRecords.with(server) { try await $0.push(id) }
                try output.format.write("push", push, text: PushText.details)
            }
        }
    }

    struct Audit: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Check that every push is accounted for.",
            discussion: """
                Exit code 1 when a law is broken, or a push is open past its time. What a stopped server has left open is \
                named too; its next start closes it.

                  reveille pushes audit
                  reveille pushes audit --output json
                """)

        @OptionGroup var output: OutputOptions
        @OptionGroup var server: ServerOptions

        func run() async throws {
            try await Terminal.reporting {
                let audit = try await StoredRecords.with(server) { try await $0.audit() }
                try output.format.write(nil, audit, text: AuditText.lines)
                if !audit.balanced { throw Exit.failed }
            }
        }
    }
}
