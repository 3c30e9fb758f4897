import ArgumentParser
import CallServer
import CallVocabulary
import Demo
import Logging
import PushClient
import ServerLog
import ServerSettings
import SimulatorEndpoints

/// The settings with an option of their own. Others come from the environment, the file and the defaults.
struct ServeOptions: ParsableArguments {
    @OptionGroup var configuration: ConfigurationOptions
    @Option(help: "The address to listen on, numeric or localhost (default: 127.0.0.1).")
    var host: String?
    @Option(help: "The port to listen on; 0 lets the system choose (default: 7350).")
    var port: Int?
    @Option(help: "The number of connection threads. With one thread and without TLS, it is the core's thread.")
    var shards: Int?
    @Option(
        help: ArgumentHelp(
            "The PostgreSQL database with the store (default: SQLite in the data folder).", valueName: "uri"))
    var store: String?
    @Option(help: "The schema of that database which has the store (default: reveille).")
    var realm: String?
    @Option(help: "The server's name in messages to clients.")
    var node: String?
    @Option(help: "The maximum number of connections (default: 100000).")
    var maxConnections: Int?
    @Option(
        help:
            "The maximum rate of messages of a connection, per second (default: 100). A burst may be four times as large."
    )
    var messagesPerSecond: Int?
    @Option(help: "The ring time of a call whose invite sets none, in seconds (5 to 600; default: 45).")
    var ringSeconds: Int?
    @Option(help: "The push that tells offline devices about a missed call, unless the user has a policy of their own.")
    var missedCalls: MissedCallPush?
    @OptionGroup var push: PushOptions
    @Option(
        help: ArgumentHelp("The certificate for wss://, in PEM, with its chain.", valueName: "file"),
        completion: .file())
    var tlsCertificate: String?
    @Option(help: ArgumentHelp("The certificate's private key, in PEM.", valueName: "file"), completion: .file())
    var tlsKey: String?
    @Flag(help: "Listen beyond this machine without TLS, for a proxy that terminates TLS.")
    var insecure = false
    @Option(
        help: ArgumentHelp("A folder with web pages of your own, beside /phone/.", valueName: "folder"),
        completion: .directory)
    var webRoot: String?
    @Flag(help: "Let a browser on this machine sign in at /phone/ as any user, to try the server.")
    var signInByName = false
    @Option(help: ArgumentHelp("The TCP address of the admin API.", valueName: "host:port"))
    var adminListen: String?
    @Option(
        help: ArgumentHelp("A file with the bearer token of the admin API.", valueName: "file"),
        completion: .file())
    var adminTokenFile: String?
    @Option(
        help: ArgumentHelp(
            "The address of the metrics listener, or off (default: 127.0.0.1:7352, or off if that port is taken).",
            valueName: "host:port"))
    var metricsListen: String?
    @Option(
        help:
            "The lowest level logged on standard error: trace, debug, info, notice, warning, error or critical (default: info)."
    )
    var logLevel: Logger.Level?
    @Option(help: "auto, text or json (default: auto, which is text on a terminal and json elsewhere).")
    var logFormat: LogFormat?

    private var flags: SettingFlags {
        var flags = push.flags
        flags.set(.listenHost, host)
        flags.set(.listenPort, port)
        flags.set(.listenInsecure, isGiven: insecure)
        flags.set(.tlsCertificate, tlsCertificate)
        flags.set(.tlsKey, tlsKey)
        flags.set(.webRoot, webRoot)
        flags.set(.webSignInByName, isGiven: signInByName)
        flags.set(.store, store)
        flags.set(.realm, realm)
        flags.set(.node, node)
        flags.set(.shards, shards)
        flags.set(.connections, maxConnections)
        flags.set(.messagesPerSecond, messagesPerSecond)
        flags.set(.ringSeconds, ringSeconds)
        flags.set(.missedCalls, missedCalls?.rawValue)
        flags.set(.adminListen, adminListen)
        flags.set(.adminTokenFile, adminTokenFile)
        flags.set(.metricsListen, metricsListen)
        flags.set(.logLevel, logLevel?.rawValue)
        flags.set(.logFormat, logFormat?.rawValue)
        return flags
    }

    var settings: SettingsLoader { configuration.settings(flags) }
}

/// The configuration file and the data folder.
struct ConfigurationOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The configuration file, in YAML.",
            discussion: "Default: $REVEILLE_CONFIG, else reveille.yaml in the data folder if it is there.",
            valueName: "file"), completion: .file())
    var config: String?
    @OptionGroup var data: DataOptions

    /// What the environment and the configuration file say, for a command without these options.
    static var surroundings: EffectiveSettings {
        get throws {
            try SettingsLoader(SettingsSources()) { try PushService.Configuration.simulator(folder: $0) }.settings()
        }
    }

    func settings(_ flags: SettingFlags) -> SettingsLoader { Self.loader(flags, data: data, file: config) }

    static func loader(_ flags: SettingFlags = SettingFlags(), data: DataOptions, file: String?) -> SettingsLoader {
        var flags = flags
        flags.set(.data, data.path)
        return SettingsLoader(SettingsSources(flags: flags, file: file)) {
            try PushService.Configuration.simulator(folder: $0)
        }
    }
}

extension Terminal {
    /// - Throws: ``refused(_:)``.
    static func tokenSettings(of loaded: LoadedSettings) throws -> TokenSettings {
        do { return try loaded.tokenSettings() } catch { throw refused(error) }
    }

    /// The error for unusable settings: a usage error if all faults are of the command line.
    static func refused(_ invalid: InvalidSettings) -> any Error {
        if invalid.isOfCommandLine { return ValidationError(options(in: invalid.description)) }
        for fault in invalid.faults { complain("reveille: \(fault)") }
        return Exit.unavailable
    }

    /// Replaces the keys of settings by their options. A key without a dot is also a word of English, and is replaced
    /// behind "the setting" only.
    static func options(in words: String) -> String {
        Setting.all.sorted { $0.key.utf8.count > $1.key.utf8.count }.reduce(words) { words, setting in
            guard let flag = setting.flag else { return words }
            let name = setting.key.contains(".") ? setting.key : "the setting \(setting.key)"
            // Words for both readers name both.
            return words.replacing("\(name) (\(flag))", with: flag).replacing(name, with: flag)
        }
    }
}
