import ArgumentParser
import CallCore
import CallServer
import CallStore
import CallVocabulary

struct PushesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pushes", abstract: "Look at the push ledger.", subcommands: [List.self, Audit.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List pushes, newest first.",
            discussion: """
                Read from the data folder; the server may run or not.

                  reveille pushes list --open
                  reveille pushes list --call ID --output json
                """)

        @Flag(help: "Only those something may still become of.") var open = false
        @Option(help: "Only those of this call (UUID).") var call: String?
        @Option(help: "Only those to this user.") var user: String?
        @Option(help: "At most so many.") var limit = 50
        @Option(help: "table or json.") var output = OutputFormat.table
        @OptionGroup var data: DataOptions

        func validate() throws {
            if let call, CallID(call) == nil { throw ValidationError("--call: '\(call)' is not a UUID.") }
            if let user, Handle(user) == nil { throw ValidationError("--user: '\(user)' is no handle.") }
            guard limit > 0 else { throw ValidationError("--limit is at least 1.") }
        }

        func run() async throws {
            do {
                let filter = PushFilter(
                    user: user.flatMap { Handle($0) }, call: call.flatMap { CallID($0) }, isOpen: open ? true : nil,
                    limit: limit)
                let pushes = try StoreReader.open(folder: data.folder.path).pushes(filter)
                switch output {
                case .json: try JSONOutput.write(["pushes": pushes.map(JSONOutput.push)])
                case .table:
                    var table = Table(["PUSH", "CALL", "TO", "PROVIDER", "REPORT", "REASON", "INTENDED"])
                    for push in pushes {
                        table.add([
                            push.id.description, String(push.call.description.prefix(8)), push.device.user.text,
                            push.status.rawValue, push.report?.rawValue ?? "-", push.reason ?? "",
                            Moment.text(push.intendedAt),
                        ])
                    }
                    for line in table.lines { print(line) }
                }
            } catch {
                throw Terminal.unavailable(error)
            }
        }
    }

    struct Audit: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Check that every push is accounted for.",
            discussion: """
                Exit code 1 when a law is broken, or a push is open past its time. What a stopped server has left open is
                named too; its next start closes it.

                  reveille pushes audit
                """)

        /// Seconds past its time after which a push should not be open any more.
        private static let grace = 15

        @Option(help: "table or json.") var output = OutputFormat.table
        @OptionGroup var data: DataOptions

        func run() async throws {
            let violations: [String]
            do {
                let reader = try StoreReader.open(folder: data.folder.path)
                let audit = try reader.audit()
                // A moment is granted: a running server is about to close what has just fallen due.
                let overdue = try reader.overduePushes(at: Moment.now + .seconds(-Self.grace))
                violations = audit.violations + overdue.map { "push \($0.id) is open past its time" }
                switch output {
                case .json: try JSONOutput.write(JSONOutput.audit(audit.counts, violations: violations))
                case .table: for line in AuditText.lines(audit.counts, violations: violations) { print(line) }
                }
            } catch {
                throw Terminal.unavailable(error)
            }
            if !violations.isEmpty { throw Exit.failed }
        }
    }
}
