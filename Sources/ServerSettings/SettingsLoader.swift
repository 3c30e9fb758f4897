import CallServer
import PushClient
import StoreInterface

/// Reads and checks all settings, any number of times.
public struct SettingsLoader: Sendable {
    /// Returns the push configuration for the simulator with this data folder.
    public typealias Simulator = @Sendable (_ folder: String) throws -> PushService.Configuration

    private let sources: SettingsSources
    private let simulator: Simulator

    public init(_ sources: SettingsSources, simulator: @escaping Simulator) {
        self.sources = sources
        self.simulator = simulator
    }

    /// What was said, unchecked: for commands that need a line of it, and not a server's worth of files.
    /// - Throws: an error in words when the file cannot be read.
    public func settings() throws -> EffectiveSettings { try SettingsReader(sources).settings }

    /// - Throws: an error in words when the file cannot be read; anything else is among the faults.
    public func load() throws -> LoadedSettings {
        let reader = try SettingsReader(sources)
        var builder = ConfigurationBuilder(settings: reader.settings, sources: sources, simulator: simulator)
        let configuration = builder.configuration()
        if let path = reader.path { builder.areBlank[path] = reader.isBlank }
        let own = reader.path.map { [NamedFile(setting: "the settings", path: $0, isEmpty: reader.isBlank)] } ?? []
        return LoadedSettings(
            settings: reader.settings, path: reader.path,
            faults: (reader.faults + builder.faults).sorted { $0.origin.order < $1.origin.order },
            fileMarks: builder.files.marks, areBlank: builder.areBlank,
            namedFiles: own + builder.files.named, configuration: configuration)
    }
}

/// The settings as they were read, and what is wrong with them.
public struct LoadedSettings: Sendable {
    public internal(set) var settings: EffectiveSettings
    /// The file that was read, if there was one.
    public let path: String?
    /// Warnings among them; by file and line, then environment, flags and the rest.
    public let faults: [SettingsFault]
    var fileMarks: [String: [Int]]
    /// The files without which settings are the defaults, by path, and whether they have nothing, not even a comment.
    var areBlank: [String: Bool]
    /// The files that were read, the settings file first.
    public internal(set) var namedFiles: [NamedFile]
    private let configuration: ServerConfiguration

    init(
        settings: EffectiveSettings, path: String?, faults: [SettingsFault], fileMarks: [String: [Int]],
        areBlank: [String: Bool], namedFiles: [NamedFile], configuration: ServerConfiguration
    ) {
        self.settings = settings
        self.path = path
        self.faults = faults
        self.fileMarks = fileMarks
        self.areBlank = areBlank
        self.namedFiles = namedFiles
        self.configuration = configuration
    }

    public var errors: [SettingsFault] { faults.filter { !$0.isWarning } }
    public var warnings: [SettingsFault] { faults.filter(\.isWarning) }
    /// What a server says of them at its start and at a reload.
    public var warningsToLog: [SettingsFault] { faults.filter { $0.kind == .warning } }

    /// What the server is started with.
    /// - Throws: ``InvalidSettings``.
    public func serverConfiguration() throws(InvalidSettings) -> ServerConfiguration {
        guard errors.isEmpty else { throw InvalidSettings(faults: errors) }
        return configuration
    }

    /// Whose tokens the server takes, for a command that makes or verifies one: only what concerns tokens has to be
    /// right.
    /// - Throws: ``InvalidSettings``.
    public func tokenSettings() throws(InvalidSettings) -> TokenSettings {
        try check { $0.hasPrefix("tokens.") || Self.places.contains($0) }
        return TokenSettings(
            folder: configuration.data, tokens: configuration.tokens, database: configuration.database)
    }

    /// Where pushes go, for a command that sends one: only what concerns pushes has to be right.
    /// - Throws: ``InvalidSettings``.
    public func pushConfiguration() throws(InvalidSettings) -> PushService.Configuration {
        try check { $0.hasPrefix("push.") }
        return configuration.push
    }

    /// The realm's database, for a command about it: only what says where that is has to be right.
    /// - Returns: nil for a store in a folder.
    /// - Throws: ``InvalidSettings``.
    public func database() throws(InvalidSettings) -> PostgresAddress? {
        try check { Self.places.contains($0) }
        return configuration.database
    }

    private static let places = [Setting.data, .store, .realm].map(\.key)

    /// - Throws: ``InvalidSettings`` for the faults of these settings and those of no setting.
    private func check(_ isMeant: (_ key: String) -> Bool) throws(InvalidSettings) {
        let faults = errors.filter { $0.key.map(isMeant) ?? true }
        guard faults.isEmpty else { throw InvalidSettings(faults: faults) }
    }
}

/// The settings are invalid.
public struct InvalidSettings: Error, CustomStringConvertible, Sendable {
    /// At least one; no warnings.
    public let faults: [SettingsFault]

    public var description: String { faults.map(\.description).joined(separator: "\n") }

    /// Whether whoever typed the command made all of it: options that cannot be.
    public var isOfCommandLine: Bool {
        faults.allSatisfy { fault in
            if case .flag = fault.origin { fault.kind == .value } else { false }
        }
    }
}
