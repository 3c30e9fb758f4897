import ArgumentParser
import CallVocabulary
import PushSimulator
import PushVocabulary

struct PushSimGoAway: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "goaway", abstract: "Close the connections of push senders now, with GOAWAY.",
        discussion: """
              reveille push-sim goaway --reason Shutdown
              reveille push-sim goaway --provider fcm
              reveille push-sim goaway --provider webpush
            """)

    @Option(help: "apns, fcm or webpush.") var provider = PushFault.Service.apns
    @Option(help: "production or sandbox.") var environment = PushEnvironment.production
    @Option(help: "A reason of APNs, such as Shutdown.") var reason: APNSReason?
    @Flag(help: "Send GOAWAY twice.") var doubled = false
    @OptionGroup var options: PushSimOptions

    func validate() throws {
        _ = try service()
    }

    func run() async throws {
        let service = try service()
        try await options.ask {
            try await $0.endProviderConnections(provider: service, environment: environment, goAway)
        }
        Terminal.print("GOAWAY sent")
    }

    private func service() throws -> PushProvider {
        switch provider {
        case .apns: return .apns
        case .fcm: return .fcm
        case .webpush: return .webpush
        case .oauth: throw ValidationError("--provider is apns, fcm or webpush.")
        }
    }

    private var goAway: PushFault.GoAway {
        reason.map { PushFault.GoAway(text: .json($0), isDoubled: doubled) } ?? PushFault.GoAway(isDoubled: doubled)
    }
}

extension APNSReason: ExpressibleByArgument {}
