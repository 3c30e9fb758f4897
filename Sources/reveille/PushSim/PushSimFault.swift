import ArgumentParser
import CallVocabulary
import PushSimulator
import PushVocabulary

struct PushSimFault: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fault", abstract: "Inject a fault for pushes that pass the checks.",
        discussion: """
            Faults apply in the order in which they were injected, each to --count pushes, or until `push-sim clear`.

              refuse            --reason R [--status N] [--timestamp MS] [--retry-after S]
              lose              answered 200 (Web Push: 201) and never delivered
              late              --delay-ms N [--jitter-ms N]: answered the same, delivered later
              no-answer         never answered
              goaway            [--reason R] [--text json|plain|none] [--doubled] [--last-stream current|zero|before]
              reset             [--code 7]: RST_STREAM
              stream-limit      --limit N: answered; the connection then allows N streams
              refuse-and-close  503, and the connection closes
              black-hole        the connection goes silent
              split-body        [--reason R] [--delay-ms N]: the body in two pieces
              empty-body        [--status N]: no body
              html              [--status N]: a page in place of JSON

              reveille push-sim fault refuse --reason Unregistered --count 1
              reveille push-sim fault refuse --provider fcm --reason QUOTA_EXCEEDED --retry-after 3
              reveille push-sim fault refuse --provider webpush --reason gone --count 1
              reveille push-sim fault reset --rate 0.1
            """)

    @Argument(help: "The fault.") var name: PushFaultOrder.Name
    @Option(help: "apns, fcm (messages), oauth (FCM's access tokens) or webpush.") var provider = PushFault.Service.apns
    @Option(
        help: "A reason of APNs (Unregistered), FCM (UNREGISTERED) or Web Push (gone).", completion: .list(Self.reasons)
    )
    var reason: String?
    @Option(help: "The HTTP status. Default: the status of the reason.") var status: Int?
    @Option(help: ArgumentHelp("For 410: when the token became invalid, in ms since 1970.", valueName: "ms"))
    var timestamp: Int64?
    @Option(help: ArgumentHelp("The Retry-After header of FCM and Web Push.", valueName: "seconds")) var retryAfter:
        Int?
    @Option(help: "Only pushes to this device token or subscription.", completion: KnownIDs.phoneTokens) var token:
        String?
    @Option(help: "The number of pushes with the fault. Default: all.") var count: Int?
    @Option(help: "The fraction of pushes with the fault, 0 to 1.") var rate: Double?
    @Option(help: ArgumentHelp("The delay.", valueName: "ms")) var delayMs: Int64?
    @Option(help: ArgumentHelp("The maximum random addition to the delay.", valueName: "ms")) var jitterMs: Int64?
    @Option(help: "The code of RST_STREAM.") var code: UInt32?
    @Option(help: "The number of streams.") var limit: Int?
    @Option(
        help: "The format of the reason in GOAWAY: json, plain or none.", completion: .list(["json", "plain", "none"]))
    var text: String?
    @Flag(help: "Send GOAWAY twice.") var doubled = false
    @Option(
        help: "The last stream id in GOAWAY: current, zero or before.",
        completion: .list(["current", "zero", "before"])) var lastStream: String?
    @OptionGroup var options: PushSimOptions

    private static let reasons =
        APNSReason.allCases.map(\.rawValue) + FCMRefusal.allCases.map(\.rawValue)
        + WebPushRefusal.allCases.map(\.rawValue)

    func validate() throws {
        do {
            _ = try order().makeFault()
        } catch let nonsense as PushFaultOrder.Nonsense {
            throw ValidationError("\(Self.options(in: nonsense.description)).")
        }
    }

    /// The simulator speaks of members of JSON; they have the names of the options.
    private static func options(in words: String) -> String {
        let members = [
            "reason", "status", "timestamp", "retry_after", "count", "rate", "delay_ms", "jitter_ms", "code", "limit",
            "text", "last_stream",
        ]
        let typed = words.split(separator: " ", omittingEmptySubsequences: false).map { word -> String in
            let name = String(word.prefix { $0.isLetter || $0 == "_" })
            let rest = String(word.dropFirst(name.count))
            if members.contains(name) { return "--" + name.replacing("_", with: "-") + rest }
            return (PushFaultOrder.Name(rawValue: name)?.argument ?? name) + rest
        }
        return typed.joined(separator: " ")
    }

    func run() async throws {
        let order = try order()
        try await options.ask { try await $0.inject(order) }
        Terminal.print("fault \(name.argument) waits")
    }

    private func order() throws -> PushFaultOrder {
        var order = PushFaultOrder(name, provider: provider)
        (order.reason, order.status, order.timestamp) = (reason, status, timestamp)
        (order.token, order.count, order.rate) = (token, count, rate)
        (order.retryAfterSeconds, order.delayMilliseconds, order.jitterMilliseconds) = (retryAfter, delayMs, jitterMs)
        (order.code, order.limit, order.text, order.lastStream) = (code, limit, text, lastStream)
        order.doubled = doubled ? true : nil
        return order
    }
}

extension PushFaultOrder.Name: ExpressibleByArgument {
    public init?(argument: String) { self.init(rawValue: argument.replacing("-", with: "_")) }

    public static var allValueStrings: [String] { allCases.map(\.argument) }

    /// As it is typed.
    var argument: String { rawValue.replacing("_", with: "-") }
}

extension PushFault.Service: ExpressibleByArgument {}

struct PushSimFaults: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "faults", abstract: "List the pending faults, in the order in which they apply.",
        discussion: """
              reveille push-sim faults
              reveille push-sim faults --output json
            """)

    @OptionGroup var output: OutputOptions
    @OptionGroup var options: PushSimOptions

    func run() async throws {
        let faults = try await options.ask { try await $0.waitingFaults() }
        try output.format.write("faults", faults, table: Self.table, none: "no fault waits")
    }

    private static func table(_ faults: [PushFaultOrder]) -> Table {
        Table(["FAULT", "PROVIDER", "REASON", "LEFT", "RATE", "TOKEN"], of: faults) { fault in
            [
                fault.fault, fault.provider ?? "", fault.reason ?? fault.status.map { "\($0)" } ?? "-",
                fault.count.map { "\($0)" } ?? "all", fault.rate.map { "\($0)" } ?? "1",
                fault.token.map { $0.prefix(8) + "…" } ?? "any",
            ]
        }
    }
}

struct PushSimClear: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "clear", abstract: "Remove all faults.", discussion: "  reveille push-sim clear")

    @OptionGroup var options: PushSimOptions

    func run() async throws {
        try await options.ask { try await $0.clearFaults() }
        Terminal.print("no fault waits")
    }
}
