import AdminProtocol
import ArgumentParser
import CallVocabulary

extension CallsCommand {
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List calls, newest first.",
            discussion: """
                Asks the server on the data folder, or the one that --server names. Where none runs it reads the \
                store, and says so.

                  reveille calls list --live
                  reveille calls list --user bob --reason ring_timeout --since 2h
                  reveille calls list --since 2026-09-18 --until 2026-09-19 --output jsonl
                """)

        @Flag(help: "Only live calls.") var live = false
        @Option(
            help: "Only calls from or to this user.", completion: KnownIDs.users,
            transform: Handle.init(argument:)) var user: Handle?
        @Option(
            help: ArgumentHelp("Only calls created at or after this time: \(PointInTime.help).", valueName: "time"),
            transform: PointInTime.parse) var since: Instant?
        @Option(
            help: ArgumentHelp("Only calls created before this time.", valueName: "time"), transform: PointInTime.parse)
        var until: Instant?
        @Option(help: "Only calls with this end reason.") var reason: EndReason?
        @Option(help: "Only calls in this state.") var state: CallState?
        @Option(help: "The maximum number of rows.") var limit = 50
        @OptionGroup var output: OutputOptions
        @OptionGroup var server: ServerOptions

        func validate() throws {
            guard (1...1_000_000).contains(limit) else { throw ValidationError("--limit is 1 to 1000000.") }
            guard !live || (reason == nil && state != .ended) else {
                throw ValidationError("--live lists calls that have not ended: they have no end reason.")
            }
            if let since, let until, since >= until { throw ValidationError("--since is not before --until.") }
        }

        func run() async throws {
            let query = ListCalls(
                live: live ? true : nil, user: user, reason: reason, state: state, since: since, until: until)
            try await StoredRecords.with(server) { records in
                let calls = try await records.calls(query, limit: limit)
                try output.format.write(
                    "calls", calls.items, table: CallText.table, none: "no such calls", hasMore: calls.hasMore)
            }
        }
    }
}
