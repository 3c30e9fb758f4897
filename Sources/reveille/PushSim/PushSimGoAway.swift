import ArgumentParser
import CallVocabulary
import PushSimulator

struct PushSimGoAway: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "goaway", abstract: "End the connections of the providers now, with GOAWAY.",
        discussion: """
              reveille push-sim goaway --reason Shutdown
              reveille push-sim goaway --provider fcm
            """)

    @Option(help: "apns or fcm.") var provider = PushFault.Service.apns
    @Option(help: "production or sandbox.") var environment = "production"
    @Option(help: "A reason of APNs, such as Shutdown.") var reason: String?
    @Flag(help: "GOAWAY comes twice.") var doubled = false
    @OptionGroup var options: PushSimOptions

    func validate() throws {
        _ = try service()
        _ = try goAway()
        guard PushEnvironment(rawValue: environment) != nil else {
            throw ValidationError("--environment is production or sandbox.")
        }
    }

    func run() async throws {
        // `validate` has checked it.
        let environment = PushEnvironment(rawValue: environment)!
        let (service, goAway) = (try service(), try goAway())
        try await options.ask {
            try await $0.endProviderConnections(provider: service, environment: environment, goAway)
        }
        Terminal.print("GOAWAY sent")
    }

    private func service() throws -> PushProvider {
        switch provider {
        case .apns: return .apns
        case .fcm: return .fcm
        case .oauth: throw ValidationError("--provider is apns or fcm.")
        }
    }

    private func goAway() throws -> PushFault.GoAway {
        guard let reason else { return PushFault.GoAway(isDoubled: doubled) }
        guard let known = APNSReason(rawValue: reason) else { throw ValidationError("No such reason: \(reason).") }
        return PushFault.GoAway(text: .json(known), isDoubled: doubled)
    }
}
