import CallServer
import CallVocabulary
import Logging

/// Reloads the settings of a running server and applies the changes.
public actor SettingsReloader {
    private let loader: SettingsLoader
    /// The settings in effect.
    private var current: LoadedSettings
    private let setLogLevel: @Sendable (Logger.Level) -> Void
    private let apply: @Sendable (ServerReload, ServerConfiguration) async throws -> Void
    private let log: Logger

    /// - Parameters:
    ///   - current: what the server was started with; without errors.
    ///   - apply: gives the server its changes, and the configuration that they are of.
    public init(
        _ loader: SettingsLoader, current: LoadedSettings, log: Logger,
        setLogLevel: @escaping @Sendable (Logger.Level) -> Void,
        apply: @escaping @Sendable (ServerReload, ServerConfiguration) async throws -> Void
    ) {
        self.loader = loader
        self.current = current
        self.setLogLevel = setLogLevel
        self.apply = apply
        self.log = log
    }

    /// Takes over all changes that a running server takes, or none when anything is wrong. Called again only after it
    /// has returned.
    /// - Returns: whether nothing is wrong.
    @discardableResult
    public func reload() async -> Bool {
        // A change like those that administrators make over the admin API, and logged as they are. The system tells nobody
        // who sent a signal.
        let result = await changeSettings()
        log.notice(
            "admin reload",
            metadata: [
                "method": .string("reload"), "result": .string(result.rawValue), "signal": .string("SIGHUP"),
            ])
        return result != .refused
    }

    /// The files that the settings in effect, and those that need a restart, were read from.
    public var namedFiles: [NamedFile] { current.namedFiles }

    private enum Outcome: String {
        case done, unchanged, refused
    }

    /// - Returns: what the audit trail says of it.
    private func changeSettings() async -> Outcome {
        let loaded: LoadedSettings
        let configuration: ServerConfiguration
        do {
            loaded = try loader.load()
            if let path = current.path, loaded.path == nil {
                log.error("\(path) is missing; the server keeps its current settings (a start would use the defaults)")
                return .refused
            }
            if let path = emptied(in: loaded) {
                log.error(
                    "\(path) is empty; the server keeps its current settings (for none, put a comment into the file)")
                return .refused
            }
            for warning in loaded.warningsToLog { log.warning("\(warning)") }
            configuration = try loaded.serverConfiguration()
        } catch let invalid as InvalidSettings {
            for fault in invalid.faults { log.error("\(fault)") }
            log.error("the configuration was not applied; the server keeps its current settings")
            return .refused
        } catch {
            let words = "\(error)".clause
            log.error("\(words); the server keeps its current settings")
            return .refused
        }
        let changes = SettingChange.all(from: current, to: loaded)
        let taken = changes.filter(\.isReloadable)
        // No change by itself, but somebody may have written the file since the server made it.
        let isSecretMade = SettingChange.isMade(.tokenSecretFile, since: current, in: loaded)
        do {
            // Whether there is an admin listener is of the start.
            let hasAdmin = current.settings.text(.adminListen) != nil
            let reload = ServerReload(
                configuration, parts: Set(taken.compactMap(\.setting.part) + (isSecretMade ? [.tokens] : [])),
                hasAdmin: hasAdmin)
            // The identity provider's keys are fetched, whatever the settings say.
            let hasServedKeys = configuration.tokens.keysAddress != nil
            if hasServedKeys || isSecretMade || taken.contains(where: { $0.setting.part != .log }) {
                try await apply(reload, configuration)
            }
        } catch {
            log.error("the server refused the configuration and keeps its current settings: \(error)")
            return .refused
        }
        take(taken, of: loaded)
        current.areBlank = loaded.areBlank
        current.namedFiles = loaded.namedFiles
        if isSecretMade {
            current.fileMarks[Setting.tokenSecretFile.key] = loaded.fileMarks[Setting.tokenSecretFile.key]
        }
        for change in changes where !change.isReloadable {
            log.warning("a changed setting needs a restart", metadata: change.metadata)
        }
        if changes.isEmpty { log.info("the configuration was read again; no setting changed") }
        return changes.isEmpty ? .unchanged : .done
    }

    /// A file that present settings come from and that has nothing now, as on a full disk.
    private func emptied(in loaded: LoadedSettings) -> String? {
        loaded.areBlank.keys.sorted().first { loaded.areBlank[$0] == true && current.areBlank[$0] == false }
    }

    private func take(_ changes: [SettingChange], of loaded: LoadedSettings) {
        let formerLevel = current.settings.logLevel
        for change in changes {
            current.settings[change.setting] = loaded.settings[change.setting]
            current.fileMarks[change.setting.key] = loaded.fileMarks[change.setting.key]
        }
        let level = changes.contains { $0.setting.part == .log } ? current.settings.logLevel : nil
        // Said by whichever of the two levels lets more through.
        if let level { setLogLevel(min(formerLevel ?? level, level)) }
        for change in changes { log.notice("a setting changed", metadata: change.metadata) }
        if let level { setLogLevel(level) }
    }
}

extension EffectiveSettings {
    /// nil only for a value that is none.
    public var logLevel: Logger.Level? { text(.logLevel).flatMap { Logger.Level(rawValue: $0) } }
    /// `auto`, `text` or `json`.
    public var logFormat: String { text(.logFormat) ?? "auto" }
}

extension ServerReload {
    /// Those parts of the configuration.
    init(_ configuration: ServerConfiguration, parts: Set<Setting.Part>, hasAdmin: Bool) {
        self.init()
        for part in parts {
            switch part {
            case .tls:
                tls = configuration.tls
                if hasAdmin { adminTLS = configuration.admin?.tls }
            case .admin:
                if hasAdmin {
                    adminToken = configuration.admin?.token
                    adminReadToken = configuration.admin?.readToken
                }
            case .push: push = configuration.push
            case .tokens: tokens = configuration.tokens
            case .webhooks: webhooks = configuration.webhooks
            case .backends: backendTokens = configuration.backendTokens
            case .authorization: authorization = .some(configuration.authorization)
            case .turn: turn = .some(configuration.turn)
            case .connectionLimits: connectionLimits = configuration.connectionLimits
            case .rates: rates = configuration.rates
            case .connections:
                maxConnections = configuration.maxConnections
                maxConnectionsPerAddress = configuration.maxConnectionsPerAddress
                maxUnreadBytes = configuration.maxUnreadBytes
                proxies = configuration.proxies
            case .limits: limits = configuration.limits
            case .timers: timers = configuration.timers
            case .policy: policy = configuration.policy
            case .log: break
            }
        }
    }
}
