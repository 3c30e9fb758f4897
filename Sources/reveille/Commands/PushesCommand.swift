import ArgumentParser
import CallCore
import CallServer
import CallStore
import CallVocabulary

struct PushesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pushes", abstract: "Look at the push ledger.", subcommands: [List.self, Show.self, Audit.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List pushes, newest first.",
            discussion: """
                Read from the data folder; the server may run or not.

                  reveille pushes list --open
                  reveille pushes list --purpose missed_call --user bob
                  reveille pushes list --call ID --output json
                """)

        @Flag(help: "Only those something may still become of.") var open = false
        @Option(help: "Only those of this call (UUID).") var call: String?
        @Option(help: "Only those to this user.") var user: String?
        @Option(help: "Only those for this: a call that rings, a missed one, or to bring the app up to date.")
        var purpose: PushPurpose?
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
                    purpose: purpose, user: user.flatMap { Handle($0) }, call: call.flatMap { CallID($0) },
                    isOpen: open ? true : nil, limit: limit)
                let pushes = try StoreReader.open(folder: data.folder.path).pushes(filter)
                switch output {
                case .json: try JSONOutput.write(["pushes": pushes.map(JSONOutput.push)])
                case .table:
                    var table = Table([
                        "PUSH", "PURPOSE", "KIND", "CALL", "TO", "PROVIDER", "REPORT", "REASON", "INTENDED",
                    ])
                    for push in pushes {
                        table.add([
                            push.id.description, push.purpose.rawValue, PushText.kind(push),
                            String(push.call.description.prefix(8)), push.device.user.text,
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

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show one push: all that the ledger has of it.",
            discussion: """
                Read from the data folder; the server may run or not. Exit code 1 when there is no such push.

                  reveille pushes show ID
                  reveille pushes show ID --output json
                """)

        @Argument(help: "The push's id (UUID), which is also its apns-id.") var id: String
        @Option(help: "table or json.") var output = OutputFormat.table
        @OptionGroup var data: DataOptions

        func validate() throws {
            guard PushID(id) != nil else {
                throw ValidationError("'\(id)' is not a push id (a UUID); see reveille pushes list.")
            }
        }

        func run() async throws {
            do {
                // `validate` has checked it.
                guard let push = try StoreReader.open(folder: data.folder.path).push(PushID(id)!) else {
                    Terminal.complain("reveille: no push \(id) in \(data.folder.path); see reveille pushes list")
                    throw Exit.failed
                }
                switch output {
                case .json: try JSONOutput.write(["push": JSONOutput.push(push)])
                case .table: for line in PushText.table(push).lines { print(line) }
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

extension PushPurpose: ExpressibleByArgument {}
