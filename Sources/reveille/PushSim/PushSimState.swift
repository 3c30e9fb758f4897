import ArgumentParser
import Foundation
import PushSimulator

struct PushSimPhones: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "phones", abstract: "List the simulated phones and browsers.",
        discussion: """
            Tokens are shortened in the table and whole in JSON.

              reveille push-sim phones
              reveille push-sim phones --output json
            """)

    @OptionGroup var output: OutputOptions
    @OptionGroup var options: PushSimOptions

    func run() async throws {
        let phones = try await options.ask { try await $0.snapshot() }.phones
        try output.format.write("phones", phones, table: Self.table, none: "no phones")
    }

    private static func table(_ phones: [PushSimulatorSnapshot.Phone]) -> Table {
        Table(["TOKEN", "PROVIDER", "TOPIC", "NAME", "STATE", "TROUBLE"], of: phones) { phone in
            [
                phone.excerpt, "\(phone.provider) \(phone.environment)", topic(of: phone), phone.name,
                phone.isAttached ? (phone.isDozing ? "dozing" : phone.app) : "away", trouble(of: phone),
            ]
        }
    }

    /// A key is shortened: nobody reads it.
    private static func topic(of phone: PushSimulatorSnapshot.Phone) -> String {
        phone.provider == "webpush" ? phone.topic.prefix(8) + "…" : phone.topic
    }

    private static func trouble(of phone: PushSimulatorSnapshot.Phone) -> String {
        if phone.isUnregistered { return phone.provider == "webpush" ? "subscription over" : "app removed" }
        if phone.isVoIPBlocked { return "VoIP pushes stopped" }
        if phone.isDemoted { return "high priority taken away" }
        let words = phone.provider == "webpush" ? "without a notification" : "not reported"
        return phone.failures > 0 ? "\(phone.failures) \(words)" : "-"
    }
}

struct PushSimState: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "state", abstract: "Show the simulator's counters since its start.",
        discussion: """
              reveille push-sim state
              reveille push-sim state --output json
            """)

    @OptionGroup var output: OutputOptions
    @OptionGroup var options: PushSimOptions

    func run() async throws {
        let state = try await options.ask { try await $0.snapshot() }
        try output.format.write("state", state) { Self.table($0).lines }
    }

    private static func table(_ state: PushSimulatorSnapshot) -> Table {
        let counts = state.counts
        var table = Table(["WHAT", "COUNT"])
        for (name, count) in [
            ("connections open", state.openConnections), ("connections", counts.connections),
            ("received", counts.received), ("accepted", counts.accepted), ("rejected", counts.rejectedTotal),
            ("never answered", counts.unanswered), ("delivered", counts.delivered), ("stored", counts.stored),
            ("reported", counts.reported), ("not reported in time", counts.contractViolations),
            ("apps ended", counts.kills), ("subscriptions ended", counts.revoked),
            ("access tokens", counts.accessTokens), ("GOAWAYs", counts.goAways),
        ] {
            table.add([name, "\(count)"])
        }
        for (title, group) in [("rejected", counts.rejected), ("dropped", counts.dropped), ("fault", counts.faults)] {
            for (name, count) in group.sorted(by: { $0.key < $1.key }) { table.add(["\(title): \(name)", "\(count)"]) }
        }
        return table
    }
}
