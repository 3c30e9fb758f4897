import AdminProtocol
import ArgumentParser
import CallCore
import CallMonitor
import CallServer
import CallVocabulary
import Foundation
import Logging
import PushClient
import PushCore
import PushVocabulary
import ServerLog
import StoreInterface

struct PushTestCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "push-test",
        abstract: "Send one real push, and explain the result.",
        discussion: """
            Sends to a known device or to a token, with the configured credentials or with the options of `reveille \
            serve`. The push is not in the ledger. A VoIP or data push announces a call from `reveille` that does not \
            exist: the phone shows the call until the app asks the server, and may then report its end as \
            connection_lost. Exit code 0: the provider accepted the push; 1: it refused the push; 2: the push could not \
            be sent.

              reveille push-test --user bob --push-sim
              reveille push-test --profile callkit_incoming --print
              reveille push-test --explain payload.json
              reveille push-test --user bob --device ID --kind alert --apns-key AuthKey_ABC123DEFG.p8 --apns-key-id ABC123DEFG --apns-team-id DEF123GHIJ
              reveille push-test --webpush-subject mailto:me@example.org --token \
            "https://push.example.org/1#p256dh=BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SR\
            pkNtoIAiw4&auth=BTBZMqHH6r4Tts7J_aSIgg"
              reveille push-test --token 9a0f1b2c3d4e5f60 --topic com.example.app.voip --environment sandbox --apns-certificate voip.pem
            """)

    enum Kind: String, ExpressibleByArgument, CaseIterable {
        case voip, alert, background, data, web

        /// Of the token that carries it.
        var token: PushKind {
            switch self {
            case .voip: .voip
            case .alert, .background: .alert
            case .data, .web: .data
            }
        }

        var purpose: PushPurpose { self == .background ? .sync : .call }
    }

    @Option(
        help: "The user whose device gets the push.", completion: KnownIDs.users, transform: Handle.init(argument:))
    var user: Handle?
    @Option(
        help: "The device, if the user has several: its id, or the first or last digits of it.",
        completion: KnownIDs.devices, transform: IDPart<DeviceSubject>.init(argument:))
    var device: IDPart<DeviceSubject>?
    @Option(
        help: ArgumentHelp(
            "A push token, for a device that the server does not know. For Web Push, the subscription as its page has "
                + "it (JSON.stringify), or endpoint#p256dh=…&auth=…."))
    var token: String?
    @Option(help: "The token's APNs topic, or Firebase project. For Web Push, none.") var topic: String?
    @Option(help: "The token's environment: production (default) or sandbox.") var environment: PushEnvironment?
    @Option(help: "voip, alert, background, data or web. Default: the kind that a call would use.") var kind: Kind?
    @Option(
        help: ArgumentHelp("The payload profile. Default: that of the device, or of the topic.", valueName: "name"))
    var profile: String?
    @Flag(help: "Print the payload and its size, and send nothing; needs neither device nor credentials.")
    var print = false
    @Option(
        help: ArgumentHelp(
            "Read a payload from a file, print how each known app reads it, and send nothing; - is standard input.",
            valueName: "file"), completion: .file())
    var explain: String?
    @Option(help: "The time limit for the push, in seconds (1 to 120).") var seconds = 15
    @OptionGroup var output: OutputOptions
    @OptionGroup var push: PushOptions
    @OptionGroup var configuration: ConfigurationOptions
    @OptionGroup var log: LogOptions

    func validate() throws {
        guard !print || explain == nil else { throw ValidationError("Give --print or --explain, not both.") }
        guard print || explain != nil || (user == nil) != (token == nil) else {
            throw ValidationError("Name a device with --user (and --device), or give a token with --token and --topic.")
        }
        guard device == nil || user != nil else { throw ValidationError("--device needs --user.") }
        guard user == nil || (topic == nil && environment == nil) else {
            throw ValidationError("--topic and --environment are those of a --token; a known device has its own.")
        }
        guard token?.hasPrefix("{") != true || subscription != nil else {
            throw ValidationError(
                "--token: this is no subscription in JSON. Give what JSON.stringify(subscription) makes: endpoint, "
                    + "keys.p256dh and keys.auth.")
        }
        guard token == nil || topic != nil || subscription != nil else {
            throw ValidationError("--token needs --topic.")
        }
        guard subscription == nil || (kind == nil && environment == nil) else {
            throw ValidationError("--kind and --environment go with no subscription of Web Push.")
        }
        if let token, token.isEmpty || token.utf8.count > PushToken.longestSubscription {
            throw ValidationError("--token has 1 to \(PushToken.longestSubscription) bytes.")
        }
        guard (1...120).contains(seconds) else { throw ValidationError("--seconds is 1 to 120.") }
        // The key of a subscription is known later.
        if let fault = givenToken?.fault, fault.member != .topic || topic != nil {
            throw ValidationError("--\(fault.member.rawValue): expected \(fault.expected).")
        }
    }

    /// What --token and the options beside it say; nil for a device that the server knows.
    private var givenToken: PushToken? {
        guard let token else { return nil }
        if let text = subscription {
            // Its key is not told: that of this server, if the page has it from here.
            return PushToken(
                provider: .webpush, kind: .data, environment: .production, topic: topic ?? webPushKey ?? "", token: text
            )
        }
        guard let topic else { return nil }
        let kind = kind?.token ?? (topic.hasSuffix(PushToken.voipSuffix) ? .voip : .alert)
        return PushToken(
            provider: kind == .data ? .fcm : .apns, kind: kind, environment: environment ?? .production, topic: topic,
            token: token)
    }

    /// What --token says, if it is a Web Push subscription.
    private var subscription: String? { token.flatMap { WebPushSubscription.text($0) } }

    /// The VAPID key in the configuration or the data folder; nil when there is none.
    private var webPushKey: String? {
        let webPush = try? push.configuration(configuration).webPush
        let key = webPush?.key ?? (try? configuration.data.folder.keptWebPushKey()) ?? nil
        return key?.applicationServerKey
    }

    func run() async throws {
        if let explain { return try PayloadText.explain(file: explain, output.format) }
        var configuration = try push.configuration(configuration)
        if let profile, configuration.profiles[profile] == nil {
            let names = configuration.profiles.names.joined(separator: ", ")
            throw ValidationError("--profile: there is no profile '\(profile.shown)'. Give one of \(names).")
        }
        if print {
            let chosen = profile.flatMap { configuration.profiles[$0] } ?? .reveille
            let natural = givenToken.map(Self.natural)
            return try PayloadText(chosen, kind: kind ?? natural ?? .voip, seconds: seconds).print(output.format)
        }
        if configuration.webPush != nil, configuration.webPush?.key == nil {
            // A key that is made now fits no subscription.
            configuration.webPush?.key = try self.configuration.data.folder.keptWebPushKey()
            if configuration.webPush?.key == nil { configuration.webPush = nil }
        }
        if subscription != nil, configuration.webPush == nil {
            throw ValidationError(
                "The server's VAPID key is missing: give --webpush-subject, and --webpush-key or the server's --data, which "
                    + "has \(DataFolder.webPushKeyFile) once it ran with Web Push.")
        }
        if let key = configuration.webPush?.key?.applicationServerKey,
            let last = try self.configuration.data.folder.lastApplicationServerKey(), last != key
        {
            throw ValidationError(
                "The server's VAPID key is another one than this: give --webpush-key as the server has it.")
        }
        guard !configuration.isEmpty else {
            throw ValidationError(
                """
                Say what to push with: \(PushOptions.credentials). The options of a running server count for it alone, \
                settings in reveille.yaml for both.
                """)
        }
        let target = try await target()
        configuration.texts.incomingCall = "Push test"
        configuration.credentialsHint = "say what to push with: \(PushOptions.credentials)"
        let intent = Self.order(
            to: target.token.asking(for: profile), of: target.key, kind: kind ?? Self.natural(target.token),
            seconds: seconds)
        var logger = try log.open().logger("push-test")
        // What is wrong is said below, in other words; --log-level shows the steps as well.
        logger.logLevel = max(log.logLevel, .warning)
        let result = try await PushProbe(configuration: configuration, now: { Moment.now }, log: logger)
            .send(intent, wakeToken: "test")
        let text = PushTestText(intent: intent, result: result)
        try output.format.write(text.json, text: text.lines)
        switch result.outcome {
        case .accepted: break
        case .rejected, .returned: throw Exit.failed
        case .unknown, .unsent: throw Exit.unavailable
        }
    }

    private struct Target {
        let key: DeviceKey
        let token: PushToken
    }

    /// - Throws: `ExitCode`, after printing what is missing.
    private func target() async throws -> Target {
        if let givenToken {
            // The handle is a literal that is one.
            return Target(key: DeviceKey(user: Handle("reveille")!, device: .random()), token: givenToken)
        }
        // `validate` has checked that one of both is given.
        guard let user else { throw Exit.failed }
        var known = try await ServerOptions.store(configuration.data).withQueries {
            try await $0.devices(DeviceFilter(user: user, limit: .max))
        }
        if let device {
            let missing = DeviceText.missing(user, device)
            known = [
                try device.only(
                    of: known, id: \.key.device, line: { DeviceText.line(DeviceView($0)) }, missing: missing)
            ]
        }
        let tokens = known.flatMap { record in record.tokens.map { Target(key: record.key, token: $0.token) } }
        let fitting = tokens.filter { target in
            guard let kind else { return true }
            return target.token.kind == kind.token && (target.token.provider == .webpush) == (kind == .web)
        }
        guard let target = fitting.last(where: { $0.token.kind == .voip || $0.token.kind == .data }) ?? fitting.last
        else {
            let which = kind.map { "for \($0.rawValue) pushes " } ?? ""
            Terminal.complain(
                "reveille: no device of \(user.text.shown) has registered a push token \(which)here; see reveille devices list "
                    + "--user \(user.text.shown)"
            )
            throw Exit.failed
        }
        return target
    }

    /// What a call is sent as to a token.
    private static func natural(_ token: PushToken) -> Kind {
        switch token.kind {
        case .voip: .voip
        case .alert: .alert
        case .data: token.provider == .webpush ? .web : .data
        }
    }

    /// The push of a call that does not exist.
    static func order(to token: PushToken, of key: DeviceKey, kind: Kind, seconds: Int) -> PushIntent {
        // The handle is a literal that is one.
        PushIntent(
            id: .random(), purpose: kind.purpose, call: .random(), user: key.user, device: key.device, token: token,
            from: Handle("reveille")!, fromName: "Reveille", video: false, custom: nil,
            expiresAt: Moment.now + .seconds(seconds))
    }
}

extension PushToken {
    /// - Parameter profile: nil keeps the token's own.
    func asking(for profile: String?) -> PushToken {
        PushToken(
            provider: provider, kind: kind, environment: environment, topic: topic, token: token,
            profile: profile ?? self.profile)
    }
}

extension PushEnvironment: ExpressibleByArgument {}
