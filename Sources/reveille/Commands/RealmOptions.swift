import ArgumentParser
import CallServer
import ServerSettings
import StoreInterface

/// The realm that a command is about: that of the configuration, unless options name another.
struct RealmOptions: ParsableArguments {
    @OptionGroup var configuration: ConfigurationOptions
    @Option(help: ArgumentHelp("The PostgreSQL database (default: store of the configuration).", valueName: "uri"))
    var store: String?
    @Option(help: "The schema of that database (default: reveille).")
    var realm: String?

    func settings() throws -> LoadedSettings {
        var flags = SettingFlags()
        flags.set(.store, store)
        flags.set(.realm, realm)
        return try configuration.settings(flags).load()
    }

    /// - Throws: a usage error without a database.
    func control() throws -> RealmControl {
        guard let database = try Self.database(of: settings()) else {
            throw ValidationError(
                "A realm is in a PostgreSQL database: name it with --store, or in the configuration.")
        }
        return RealmControl(database)
    }

    /// - Returns: nil for a store in a folder.
    /// - Throws: `Terminal.refused(_:)`.
    static func database(of loaded: LoadedSettings) throws -> PostgresAddress? {
        do { return try loaded.database() } catch { throw Terminal.refused(error) }
    }
}
