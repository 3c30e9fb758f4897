import ArgumentParser
import CallServer
import CallVocabulary
import Foundation
import LibWebSockets
import PhoneSimulator
import PushSimulator
import ServerSettings
import SoftphoneKit
import SoftphoneSession
import TLS
import TerminalScreen

struct PhoneCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "phone",
        abstract: "A softphone in the terminal.",
        discussion: """
            Type help at its prompt; the Up key brings back what was typed before. With --asleep it is an iPhone, an Android phone or a browser on the push \
            simulator: offline until a push wakes it.

              reveille phone alice
              reveille phone bob --asleep --auto-answer 2
              reveille phone carol --asleep --platform android
              reveille phone dave --asleep --platform web
              echo 'call bob
              wait connected
              hangup' | reveille phone alice
            """)

    @Argument(help: "The user's handle.", completion: KnownIDs.users, transform: Handle.init(argument:))
    var user: Handle
    @Option(
        help: ArgumentHelp(
            "The server's address for clients: ws://host:port or wss://host:port.",
            discussion: "Default: the address of the server that runs on the data folder.", valueName: "url"))
    var server: String?
    @Option(
        help: ArgumentHelp(
            "With wss, trust the certificates in this PEM file only. Default: the system's trust store.",
            valueName: "file"), completion: .file())
    var caFile: String?
    @Option(help: "A client token. Default: a new one, signed with the secret in the data folder.") var token: String?
    @Option(help: "The user's display name, shown to the other party.") var name: String?
    @Flag(help: "Stay offline until a push of the push simulator wakes the phone.") var asleep = false
    @Option(
        help: "With --asleep: ios, woken by VoIP pushes of APNs, android, by data messages of FCM, or web, by Web Push."
    )
    var platform = WakeablePhone.System.iPhone
    @Option(
        help: ArgumentHelp(
            "With --asleep: the app that reads the pushes, by the rules of its plugin.", valueName: "app"))
    var app = PhoneApp.reveille
    @Option(
        help: ArgumentHelp(
            "With --asleep: the payload profile that the app asks for.",
            discussion: "Default: the profile of --app. Another profile shows how the app handles it.",
            valueName: "profile"))
    var profile: String?
    @Option(help: ArgumentHelp("Answer each call after this number of seconds.", valueName: "seconds"))
    var autoAnswer: Double?
    @Flag(help: "With --asleep: never report pushes, to see how iOS reacts.") var ignorePushes = false
    @Option(
        help: ArgumentHelp(
            "Read the commands from a file. The first command that fails ends the phone with exit code 1.",
            valueName: "file"),
        completion: .file())
    var script: String?
    @Option(
        help: ArgumentHelp(
            "The push simulator's data folder. Default: push-sim in the server's data folder.", valueName: "folder"),
        completion: .directory)
    var pushSimData: String?
    @OptionGroup var data: DataOptions

    func validate() throws {
        if let server, WebSocketURL(server) == nil {
            throw ValidationError(
                "--server: \(ShownText.quoted(server)) is neither ws://host:port nor wss://host:port.")
        }
        if let autoAnswer, !(0...600).contains(autoAnswer) {
            throw ValidationError("--auto-answer is 0 to 600 seconds.")
        }
        guard !ignorePushes || asleep else { throw ValidationError("--ignore-pushes goes with --asleep.") }
        guard app == .reveille && profile == nil || asleep else {
            throw ValidationError("--app and --profile go with --asleep.")
        }
        guard platform == .iPhone || asleep else {
            throw ValidationError("--platform \(platform.rawValue) goes with --asleep.")
        }
        guard platform != .web || app == .reveille && profile == nil else {
            throw ValidationError("--platform web goes with neither --app nor --profile: browsers have no plugin.")
        }
    }

    func run() async throws {
        // Without them, lines are read as the terminal gives them.
        var keys: TypedKeys?
        if isInteractive { keys = try? TypedKeys() }
        defer { keys?.restore() }
        do {
            let display = PhoneDisplay(isAsleep: asleep, isInteractive: isInteractive)
            let lines = try keys.map { PhoneConsole.typed($0, display) } ?? orders()
            let server = try await found()
            var memory = PhoneMemory.load(user, data.folder)
            let configuration = try await softphoneConfiguration(server, memory)
            let succeeded: Bool
            if asleep {
                let phone = try wakeable(configuration, memory, display)
                let token = try await phone.setUp()
                switch platform {
                case .iPhone:
                    memory.deviceToken = token
                    memory.alertToken = await phone.alertToken()
                case .android: memory.messageToken = token
                case .web:
                    memory.subscription = token
                    memory.serverKey = await phone.serverKey()
                }
                try memory.save(user, data.folder)
                display.line("registered as \(user); asleep until a push wakes this phone")
                succeeded = await attend(phone.softphone, display, lines)
                await phone.switchOff()
            } else {
                let phone = try Softphone(configuration: configuration, runtime: runtime()) { phone, event in
                    display.show(event)
                    react(to: event, phone)
                }
                try await phone.connect()
                try memory.save(user, data.folder)
                succeeded = await attend(phone, display, lines)
                await phone.disconnect()
            }
            guard succeeded else { throw Exit.failed }
        } catch SoftphoneError.notConnected(let failure) {
            let reason = failure.map { ": " + "\($0)".clause } ?? ""
            let mayLackTrust = server?.hasPrefix("wss:") == true && caFile == nil
            let advice =
                mayLackTrust ? "; with a certificate authority of your own, name its file with --ca-file" : ""
            Terminal.complain(
                "reveille: no connection\(reason); look whether the server runs, and check the URL\(advice)")
            throw Exit.unavailable
        }
    }

    /// The named server, or the one on the data folder. Prints its address.
    private func found() async throws -> String {
        let url: ClientURL
        if let server {
            url = ClientURL(text: server, source: "--server")
        } else {
            url = try await ClientURL.find(data.folder)
        }
        Terminal.complain("connecting to \(url.text) (\(url.source))")
        return url.text
    }

    private func orders() throws -> AsyncStream<String> {
        guard let script else { return PhoneConsole.standardInput() }
        // Not as a file of known size: it may be a pipe.
        guard let data = FileHandle(forReadingAtPath: script)?.readDataToEndOfFile() else {
            throw ValidationError("--script: cannot read \(script).")
        }
        let text = String(decoding: data, as: UTF8.self)
        return AsyncStream { continuation in
            for line in text.split(separator: "\n") { continuation.yield(String(line)) }
            continuation.finish()
        }
    }

    private func softphoneConfiguration(_ server: String, _ memory: PhoneMemory) async throws -> Softphone.Configuration
    {
        let minted: String
        if let token {
            minted = token
        } else {
            let settings = try Terminal.tokenSettings(of: ConfigurationOptions.loader(data: data, file: nil).load())
            minted = try await TokenAuthority(minting: settings).mint(
                user: user, lifetime: .seconds(86_400), name: name)
        }
        // `PhoneMemory` only gives ids that are.
        let device = DeviceDescription(
            id: DeviceID(memory.device)!, platform: softphonePlatform, app: "reveille phone")
        return Softphone.Configuration(url: server, token: minted, device: device)
    }

    private func runtime() throws -> SoftphoneRuntime {
        try SoftphoneRuntime(trust: caFile.map { .file($0) } ?? .system)
    }

    private var softphonePlatform: Platform {
        guard asleep else { return .cli }
        return switch platform {
        case .iPhone: .ios
        case .android: .android
        case .web: .web
        }
    }

    private var device: String {
        switch platform {
        case .iPhone: "iPhone"
        case .android: "Android phone"
        case .web: "browser"
        }
    }

    private func wakeable(
        _ configuration: Softphone.Configuration, _ memory: PhoneMemory, _ display: PhoneDisplay
    ) throws -> WakeablePhone {
        var phone = WakeablePhone.Configuration(
            softphone: configuration, simulatorFolder: pushSimData ?? data.simulatorFolder,
            name: "\(user.text)'s \(device)")
        phone.system = platform
        phone.takesAlerts = true
        phone.app = app
        phone.profile = profile ?? (app == .reveille ? nil : app.rawValue)
        phone.deviceToken = memory.token(platform)
        phone.serverKey = memory.serverKey
        if let caFile { phone.trust = .certificateAuthority(file: caFile) }
        phone.alertToken = memory.alertToken
        phone.reportsPushes = !ignorePushes
        return try WakeablePhone(configuration: phone, runtime: runtime()) { phone, event in
            display.show(event)
            if case .app(let event) = event { react(to: event, phone.softphone) }
        }
    }

    /// What the phone does by itself: it takes calls if it was told to, and, having no media to wait for, says at once that
    /// media flows.
    private func react(to event: SoftphoneEvent, _ phone: Softphone) {
        switch event {
        case .incoming(let call, _):
            guard let autoAnswer else { return }
            Task {
                try await Task.sleep(for: .seconds(autoAnswer))
                try await phone.answer(call.id)
                try await phone.connected(call.id)
            }
        case .state(let call) where call.state == .answered && call.role == .caller:
            Task { try await phone.connected(call.id) }
        case .offer, .state, .ended, .merged, .candidates, .update, .peer, .latePush, .connection, .draining: break
        }
    }

    /// Whether a person types the orders.
    private var isInteractive: Bool { script == nil && isatty(STDIN_FILENO) == 1 && Terminal.isInteractive }

    private func attend(_ phone: Softphone, _ display: PhoneDisplay, _ lines: AsyncStream<String>) async -> Bool {
        let console = PhoneConsole(
            softphone: phone, display: display, stopsAtFailure: script != nil || isatty(STDIN_FILENO) == 0)
        if isInteractive { display.say(Terminal.dim("type help for what this phone can do")) }
        let succeeded = await console.run(lines)
        // With nobody at the keyboard it is there for its calls, until it is told to stop.
        if succeeded, autoAnswer != nil, script == nil, isatty(STDIN_FILENO) == 0 { await Interrupt.wait() }
        return succeeded
    }
}

extension WakeablePhone.System: ExpressibleByArgument {}

extension PhoneApp: ExpressibleByArgument {}
