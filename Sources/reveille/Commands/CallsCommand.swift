import ArgumentParser
import CallCore
import CallServer
import CallStore
import CallVocabulary
import Foundation

struct CallsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "calls", abstract: "Look at calls, live and past.", subcommands: [List.self, Show.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List calls, newest first.",
            discussion: """
                Read from the data folder; the server may run or not.

                  reveille calls list --live
                  reveille calls list --user bob --reason ring_timeout --output json
                """)

        @Flag(help: "Only calls that are not over.") var live = false
        @Option(help: "Only calls this user made or got.") var user: String?
        @Option(help: "Only calls that ended so: \(EndReason.allCases.map(\.rawValue).joined(separator: ", ")).")
        var reason: String?
        @Option(help: "At most so many.") var limit = 50
        @Option(help: "table or json.") var output = OutputFormat.table
        @OptionGroup var data: DataOptions

        func validate() throws {
            if let user, Handle(user) == nil { throw ValidationError("--user: '\(user)' is no handle.") }
            if let reason, EndReason(rawValue: reason) == nil {
                throw ValidationError("--reason: no such reason '\(reason)'; see --help for the list.")
            }
            guard limit > 0 else { throw ValidationError("--limit is at least 1.") }
        }

        func run() async throws {
            do {
                let filter = CallFilter(
                    isLive: live ? true : nil, user: user.flatMap { Handle($0) },
                    reason: reason.flatMap { EndReason(rawValue: $0) },
                    limit: limit)
                let calls = try StoreReader.open(folder: data.folder.path).calls(filter)
                switch output {
                case .json: try JSONOutput.write(["calls": calls.map(JSONOutput.call)])
                case .table:
                    var table = Table(["CALL", "FROM", "TO", "STATE", "REASON", "CREATED"])
                    for call in calls {
                        table.add([
                            call.id.description, call.caller.user.text, TimelineText.name(call.to),
                            call.state.rawValue,
                            call.endReason?.rawValue ?? "", Moment.text(call.createdAt),
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
            abstract: "Tell the story of one call: each push, ring, answer and end, with who and when.",
            discussion: "  reveille calls show 0b9c8e4e-…")

        @Argument(help: "The call's id (UUID).") var id: String
        @Option(help: "table or json.") var output = OutputFormat.table
        @OptionGroup var data: DataOptions

        func validate() throws {
            guard CallID(id) != nil else {
                throw ValidationError("'\(id)' is not a call id (a UUID); see reveille calls list.")
            }
        }

        func run() async throws {
            do {
                // `validate` has checked it.
                guard let stored = try StoreReader.open(folder: data.folder.path).call(CallID(id)!) else {
                    Terminal.complain("reveille: no call \(id) in \(data.folder.path); see reveille calls list")
                    throw Exit.failed
                }
                let (call, legs, pushes) = (stored.call, stored.legs, stored.pushes)
                let timeline = CallTimeline(call: call, legs: legs, pushes: pushes)
                switch output {
                case .json:
                    try JSONOutput.write([
                        "call": JSONOutput.call(call), "timeline": JSONOutput.timeline(timeline),
                        "pushes": pushes.map(JSONOutput.push),
                    ])
                case .table:
                    print(
                        "call \(call.id)  \(call.caller.user) → \(TimelineText.name(call.to))  \(Moment.text(call.createdAt))"
                    )
                    let end = call.endReason.map { "ended: \($0.rawValue)" } ?? "is \(call.state.rawValue)"
                    let devices = legs.count == 1 ? "1 device" : "\(legs.count) devices"
                    print("\(end), \(devices), \(pushes.count == 1 ? "1 push" : "\(pushes.count) pushes")")
                    for line in TimelineText.lines(timeline, from: call.createdAt) { print("  " + line) }
                }
            } catch {
                throw Terminal.unavailable(error)
            }
        }
    }
}

enum OutputFormat: String, ExpressibleByArgument, CaseIterable {
    case table, json
}

/// Times for people: local.
enum Moment {
    static var now: Instant { Instant(milliseconds: Int64(Date().timeIntervalSince1970 * 1000)) }

    static func text(_ instant: Instant) -> String {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.dateFormat = "yyyy-MM-dd HH:mm:ss"
        return formatter.string(from: Date(timeIntervalSince1970: Double(instant.milliseconds) / 1000))
    }
}
