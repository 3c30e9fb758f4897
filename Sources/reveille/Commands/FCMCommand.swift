import ArgumentParser
import CallServer
import CallVocabulary
import Demo
import Foundation
import Logging
import PushClient
import PushCore
import ServerLog
import SimulatorEndpoints

struct FCMCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fcm", abstract: "Map and subscribe FCM tokens, and send notices to topics.",
        discussion: """
            Uses FCM with a service account, or the push simulator.

              reveille fcm map --fcm-service-account key.json --app org.example.phone 0a1b2c…
              reveille fcm subscribe --push-sim maintenance TOKEN
              reveille fcm notify --push-sim maintenance --title "Tonight" "Maintenance from 2 to 3."
            """,
        subcommands: [Map.self, Subscribe.self, Unsubscribe.self, Notify.self])

    /// FCM or the simulator, and the output format.
    struct Target: ParsableArguments {
        @OptionGroup var fcm: FCMOptions
        @OptionGroup var simulator: SimulatorOptions
        @OptionGroup var data: DataOptions
        @OptionGroup var output: OutputOptions

        func validate() throws {
            guard simulator.isGiven != (fcm.fcmServiceAccount != nil) else {
                throw ValidationError("Give --fcm-service-account or --push-sim.")
            }
        }

        func run<Result>(_ body: (FCMRegistry) async throws -> Result) async throws -> Result {
            let endpoint =
                simulator.isGiven
                ? try FCMEndpoint.simulator(folder: simulator.folder(data)) : try fcm.endpoint()
            guard let endpoint else { throw ValidationError("This simulator does not play FCM; start it anew.") }
            let log = try ServerLog.standardError(level: .warning).logger("fcm")
            let clock = ServerClock()
            let registry = try await FCMRegistry(endpoint, now: { clock.now() }, log: log)
            do {
                let result = try await body(registry)
                await registry.stop()
                return result
            } catch {
                await registry.stop()
                throw error
            }
        }

        /// Prints one line for each token. Throws ``Exit/failed`` if any failed.
        func report(_ tokens: [String], _ outcomes: [FCMRegistry.Outcome]) throws {
            let rows = zip(tokens, outcomes).map { Row(token: $0, outcome: $1) }
            let results = rows.map { ["token": $0.token, $0.hasFailed ? "error" : "result": $0.result] }
            try output.format.write("results", results, table: { _ in Self.table(rows) }, none: "no tokens")
            if rows.contains(where: \.hasFailed) { throw Exit.failed }
        }

        private static func table(_ rows: [Row]) -> Table {
            Table(["TOKEN", "RESULT"], of: rows) { row in [row.token, row.result] }
        }
    }

    private struct Row {
        let token: String
        let result: String
        let hasFailed: Bool

        init(token: String, outcome: FCMRegistry.Outcome) {
            self.token = token
            switch outcome {
            case .done(let registration):
                result = registration ?? "done"
                hasFailed = false
            case .failed(let words):
                result = words
                hasFailed = true
            }
        }
    }

    struct Map: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Map APNs tokens of an app to FCM tokens.",
            discussion: "  reveille fcm map --fcm-service-account key.json --app org.example.phone 0a1b2c3d")

        @Option(help: "The app's bundle id.") var app: String
        @Flag(help: "The tokens belong to the APNs sandbox.") var sandbox = false
        @Argument(help: "APNs tokens, hexadecimal.") var tokens: [String]
        @OptionGroup var target: Target

        func run() async throws {
            let outcomes = try await target.run { try await $0.map(tokens, application: app, isSandbox: sandbox) }
            try target.report(tokens, outcomes)
        }
    }

    struct Subscribe: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Subscribe FCM tokens to a topic.",
            discussion: "  reveille fcm subscribe --push-sim maintenance TOKEN")

        @Argument(help: "The topic.") var topic: String
        @Argument(help: "FCM tokens.") var tokens: [String]
        @OptionGroup var target: Target

        func run() async throws {
            let outcomes = try await target.run { try await $0.subscribe(tokens, topic: topic) }
            try target.report(tokens, outcomes)
        }
    }

    struct Unsubscribe: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "End the subscription of FCM tokens to a topic.",
            discussion: "  reveille fcm unsubscribe --push-sim maintenance TOKEN")

        @Argument(help: "The topic.") var topic: String
        @Argument(help: "FCM tokens.") var tokens: [String]
        @OptionGroup var target: Target

        func run() async throws {
            let outcomes = try await target.run { try await $0.subscribe(tokens, isSubscribed: false, topic: topic) }
            try target.report(tokens, outcomes)
        }
    }

    struct Notify: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Send a notice to all subscribers of a topic.",
            discussion:
                #"  reveille fcm notify --push-sim maintenance --title "Tonight" "Maintenance from 2 to 3.""#)

        @Argument(help: "The topic.") var topic: String
        @Argument(help: "The text.") var text: String
        @Option(help: "The title of the notice.") var title = "Notice"
        @OptionGroup var target: Target

        func run() async throws {
            try await target.run { try await $0.notify(text, title: title, topic: topic) }
            Terminal.print("sent to the subscribers of \(topic)")
        }
    }
}
