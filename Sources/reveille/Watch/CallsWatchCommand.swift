import AdminKit
import AdminProtocol
import ArgumentParser
import CallVocabulary
import TerminalScreen

struct CallsWatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Show live calls full-screen, as they change: sort, filter, open and end calls.",
        discussion: """
            Type ? for the keys. While the server is away the last picture stays; updates resume when it is back.

              reveille calls watch
              reveille calls watch --user bob --sort state
              reveille calls watch --once --output jsonl
            """)

    @Option(
        help: "Only calls from or to this user.", completion: KnownIDs.users, transform: Handle.init(argument:))
    var user: Handle?
    @Option(help: "The initial sort order: \(CallSort.allCases.map(\.rawValue).joined(separator: ", ")).")
    var sort = CallSort.trouble
    @Flag(help: "Print the current live calls once.") var once = false
    @Option(help: "With --once: table, json or jsonl.") var output = OutputFormat.table
    @Flag(help: "Wait for the server when it is not running.") var wait = false
    @OptionGroup var server: ServerOptions

    func validate() throws {
        guard once || output == .table else { throw ValidationError("--output goes with --once.") }
        guard !once || !wait else { throw ValidationError("--wait does not go with --once.") }
    }

    func run() async throws {
        let address = try server.address()
        if once { return try await printOnce() }
        let traits = try FullScreen.traits("calls watch")
        if !wait { try await ServerCheck.check(server) }
        try await watch(address, traits)
    }

    private func watch(_ address: AdminAddress, _ traits: TerminalTraits) async throws {
        let inbox = try ScreenInbox<WatchEvent>()
        let link = ServerLink(SubscribeToCalls(user: user), address: address) { inbox.post(.link($0)) }
        let linking = Task { await link.run() }
        let end = try await FullScreen.run(
            WatchProgram(user: user, sort: sort), traits: traits, inbox: inbox
        ) { effect in
            // One for each thing a person asks for.
            Task { inbox.post(await Self.carryOut(effect, link, address)) }
        }
        linking.cancel()
        await linking.value
        if let refusal = end.refusal { throw AdminProblem(.unreachable, refusal) }
    }

    private static func carryOut(
        _ effect: WatchEffect, _ link: ServerLink<SubscribeToCalls>, _ address: AdminAddress
    ) async -> WatchEvent {
        switch effect {
        case .end(let id):
            do throws(AdminFailure) {
                _ = try await link.perform(EndCall(id))
                return .ended(id, failure: nil)
            } catch {
                return .ended(id, failure: AdminProblem(error, address).words)
            }
        case .fetchStory(let id):
            do throws(AdminFailure) {
                return .story(id, try await link.perform(GetCall(id)), failure: nil)
            } catch {
                return .story(id, nil, failure: AdminProblem(error, address).words)
            }
        }
    }

    private func printOnce() async throws {
        var calls = try await Administration.with(server) { try await $0.all(ListCalls(live: true, user: user)) }
        calls = CallListing.sorted(calls, by: sort, wallMilliseconds: ScreenLoop.now().wallMilliseconds)
        switch output {
        case .json: try JSONOutput.list("calls", calls, lines: false)
        case .jsonl: try JSONOutput.list("calls", calls, lines: true)
        case .table: Terminal.print(Self.table(calls).lines(width: nil))
        }
    }
}

extension CallsWatchCommand {
    /// At full width, for scripts.
    private static func table(_ calls: [CallView]) -> Table {
        let now = ScreenLoop.now().wallMilliseconds
        return Table(["STATE", "AGE", "FROM", "TO", "RING", "PUSH", "CALL"], of: calls) { call in
            let counts = call.counts ?? CallCounts()
            return [
                call.state.rawValue, CallWords.clock(CallWords.age(call, wallMilliseconds: now)), call.from.text,
                CallWords.target(call.to), "\(counts.ringing)/\(counts.devices)",
                "\(counts.pushesOpen)/\(counts.pushes)", call.callID.description,
            ]
        }
    }
}

extension CallSort: ExpressibleByArgument {}
