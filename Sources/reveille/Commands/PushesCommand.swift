import AdminProtocol
import ArgumentParser
import CallVocabulary

struct PushesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pushes", abstract: "List, show and audit the pushes of the ledger.",
        discussion: """
            Asks the server on the data folder, or the one that --server names. Where none runs it reads the store, and \
            says so.

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

        @Flag(help: "Only pushes without a final state.") var open = false
        @Option(
            help: "Only pushes of this call: its id, or the first or last digits of it.", completion: KnownIDs.calls,
            transform: IDPart<CallSubject>.init(argument:)) var call: IDPart<CallSubject>?
        @Option(
            help: "Only pushes to this user.", completion: KnownIDs.users, transform: Handle.init(argument:))
        var user: Handle?
        @Option(help: "Only pushes with this purpose: an incoming call, a missed call, or a sync of the app.")
        var purpose: PushPurpose?
        @Option(help: "Only pushes with this status at the provider.") var status: ProviderStatus?
        @Option(help: "Only pushes with this report status of the device.") var report: ReportStatus?
        @Option(help: "The maximum number of rows.") var limit = 50
        @OptionGroup var output: OutputOptions
        @OptionGroup var server: ServerOptions

        func validate() throws {
            guard (1...1_000_000).contains(limit) else { throw ValidationError("--limit is 1 to 1000000.") }
        }

        func run() async throws {
            try await StoredRecords.with(server) { records in
                var query = ListPushes(
                    purpose: purpose, status: status, report: report, user: user, open: open ? true : nil)
                if let call { query.callID = try await records.callID(call) }
                let pushes = try await records.pushes(query, limit: limit)
                try output.format.write(
                    "pushes", pushes.items, table: PushText.table, none: "no such pushes", hasMore: pushes.hasMore)
            }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show one push: its ledger entry, and what a rejection means.",
            discussion: """
                Exit code 1: there is no such push.

                  reveille pushes show 7c1d22aa
                  reveille pushes show 7c1d22aa --output json
                """)

        @Argument(
            help: "The push's id, which is also its apns-id, or the first or last digits of it.",
            completion: KnownIDs.pushes, transform: IDPart<PushSubject>.init(argument:)) var id: IDPart<PushSubject>
        @OptionGroup var output: OutputOptions
        @OptionGroup var server: ServerOptions

        func run() async throws {
            try await StoredRecords.with(server) {
                let push = try await $0.push(id)
                try output.format.write("push", push, text: PushText.details)
            }
        }
    }

    struct Audit: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Check that every push is accounted for.",
            discussion: """
                Exit code 1: an invariant of the ledger is violated, or a push is open past its deadline. Pushes that a \
                stopped server left open are listed too; its next start closes them.

                  reveille pushes audit
                  reveille pushes audit --output json
                """)

        @OptionGroup var output: OutputOptions
        @OptionGroup var server: ServerOptions

        func run() async throws {
            var isBalanced = true
            try await StoredRecords.with(server) { records in
                let audit = try await records.audit()
                try output.format.write(nil, audit, text: AuditText.lines)
                isBalanced = audit.balanced
            }
            if !isBalanced { throw Exit.failed }
        }
    }
}
