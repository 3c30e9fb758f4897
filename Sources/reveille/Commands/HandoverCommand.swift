import ArgumentParser
import CallServer
import CallVocabulary
import StoreInterface

struct HandoverCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "handover", abstract: "Make a standby the realm's home, such as before the home is upgraded.",
        discussion: """
            The home stops taking requests, commits what is under way and gives its lease back; then it stands by. \
            Clients reconnect to the new home; calls and their deadlines go on.

            A standby with a problem, such as an expired certificate, is refused: see reveille cluster status.

            Exit code 0: the standby is the home; 1: it is not; 2: the database does not answer.

              reveille handover --store 'postgres://reveille@db.example.org/reveille?sslmode=verify-full'
              reveille handover berlin-2
            """)

    /// A working home hands over within a second. The lease of a home that hangs ends after 3 s.
    private static let patience = Duration.seconds(10)
    private static let betweenPolls = Duration.milliseconds(100)

    @Argument(help: "The name of the standby (default: the only one).") var node: String?
    @Option(help: OutputFormat.help) var output = OutputFormat.table
    @OptionGroup var realm: RealmOptions

    func run() async throws {
        let control = try realm.control()
        do {
            let before = try control.status()
            guard !before.isWaiting else {
                throw Terminal.failed("no server can hand over: \(DatabaseWarning.commitsWait)")
            }
            let next = try standby(before)
            if let problem = Self.problem(of: next) { throw Terminal.failed(problem) }
            guard try control.handOver(to: next.node) else {
                throw Terminal.failed("the realm has no home; \(next.node.name) takes the lease by itself")
            }
            try await wait(for: next.node, control)
        } catch let failure as StoreFailure {
            throw Terminal.unavailable(failure)
        }
    }

    /// Why the standby must not become the home yet; nil for nothing. It tells anew every few seconds.
    static func problem(of standby: RealmStatus.Member) -> String? {
        standby.problem.map {
            "\(standby.node.name) is not handed the lease: \($0); repeat this when reveille cluster status shows no problem of it"
        }
    }

    private func standby(_ status: RealmStatus) throws -> RealmStatus.Member {
        let names = status.standbys.map(\.node.name)
        if let node {
            if let home = status.members.first(where: \.isHome), home.node.name == node, !names.contains(node) {
                throw Terminal.failed(
                    "\(home.node.place) is the home already; those that stand by: \(Self.list(names))")
            }
            let found = status.standbys.filter { $0.node.name == node }
            guard found.count == 1, let member = found.first else {
                throw Terminal.failed(
                    found.isEmpty
                        ? "no server of the name \(node) stands by; those that do: \(Self.list(names))"
                        : Self.namesakes(found.count, node))
            }
            return member
        }
        guard let only = status.standbys.first, names.count == 1 else {
            guard let name = names.first else {
                throw Terminal.failed("no server stands by; start one with reveille serve on the same store")
            }
            let different = Set(names).sorted()
            throw Terminal.failed(
                different.count == 1
                    ? Self.namesakes(names.count, name)
                    : "several servers stand by; name one: \(Self.list(different))")
        }
        return only
    }

    private static func namesakes(_ count: Int, _ name: String) -> String {
        "\(count) servers are called \(name); give each a name of its own with --node"
    }

    private static func list(_ names: [String]) -> String { names.isEmpty ? "none" : names.joined(separator: ", ") }

    /// Polls until `node` is the home. A poll that fails is repeated, because the home has the request.
    /// - Throws: the `StoreFailure` of the last poll.
    private func wait(for node: RealmNode, _ control: RealmControl) async throws {
        let deadline = ContinuousClock.now + Self.patience
        var last: Result<RealmStatus, StoreFailure>
        repeat {
            last = Result { () throws(StoreFailure) in try control.status() }
            if case .success(let status) = last, status.members.first(where: \.isHome)?.node.id == node.id {
                return try output.write(
                    ["handover": ["home": node.name, "epoch": status.epoch] as [String: Any]],
                    text: ["\(node.place) is the home, epoch \(status.epoch)"])
            }
            try await Task.sleep(for: Self.betweenPolls)
        } while ContinuousClock.now < deadline
        _ = try last.get()
        throw Terminal.failed("\(node.name) has not taken the lease; see reveille cluster status and its log")
    }
}
