import ArgumentParser
import CallServer
import Foundation
import LibWebSockets
import ServerSettings
import StoreInterface
import TLS

/// The server that a command asks.
struct ServerOptions: ParsableArguments {
    @Option(
        name: .customLong("server"),
        help: ArgumentHelp(
            "The server's admin API: the path of its socket, or ws://host:port or wss://host:port.",
            discussion: """
                Default: $REVEILLE_SERVER, else server in the configuration file, else the server on the data folder.
                """,
            valueName: "socket or url"), completion: .file())
    var name: String?

    @Option(
        help: ArgumentHelp(
            "The bearer token of the admin API at a URL.",
            discussion: "Default: $REVEILLE_TOKEN, else token in the configuration file."))
    var token: String?

    @Option(
        help: ArgumentHelp(
            "At a wss:// URL, trust the certificates in this PEM file only. Default: the system's trust store.",
            valueName: "file"), completion: .file())
    var caFile: String?

    @Option(
        help: ArgumentHelp(
            "At a wss:// URL that asks for it, show the certificate in this PEM file.",
            discussion: "Default: $REVEILLE_CLIENT_CERTIFICATE.", valueName: "file"), completion: .file())
    var clientCertificate: String?

    @Option(
        help: ArgumentHelp(
            "The private key of --client-certificate.",
            discussion: "Default: $REVEILLE_CLIENT_KEY, else the file of the certificate.", valueName: "file"),
        completion: .file())
    var clientKey: String?

    @OptionGroup var data: DataOptions

    func validate() throws { _ = try named() }

    /// The server that is named, by a flag, the environment or the configuration file; nil when only a data folder is.
    func named(
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(ValidationError) -> AdminAddress? {
        guard name == nil || data.path == nil else {
            throw ValidationError("--server names a server and --data its folder: give one of the two.")
        }
        if let caFile, !FileManager.default.isReadableFile(atPath: caFile) {
            throw ValidationError("--ca-file: \(caFile) cannot be read.")
        }
        let identity = try identity(environment)
        let trust = caFile.map { LWSContext.Trust.file($0) } ?? .system
        let file = try configured()
        let token = token ?? Self.value("REVEILLE_TOKEN", environment) ?? file.token
        if let name {
            return try AdminAddress(name, token: token, trust: trust, identity: identity, source: "--server")
        }
        // What is said on the command line counts before what is set around it.
        guard data.path == nil else { return nil }
        if let name = Self.value("REVEILLE_SERVER", environment) {
            return try AdminAddress(
                name, token: token, trust: trust, identity: identity, source: "REVEILLE_SERVER")
        }
        guard let name = file.server else { return nil }
        return try AdminAddress(
            name, token: token, trust: trust, identity: identity, source: "server in the configuration file")
    }

    /// The certificate to show to the server; nil for none.
    private func identity(_ environment: [String: String]) throws(ValidationError) -> TLSFiles? {
        let certificate = clientCertificate ?? Self.value("REVEILLE_CLIENT_CERTIFICATE", environment)
        let key = clientKey ?? Self.value("REVEILLE_CLIENT_KEY", environment)
        guard let certificate else {
            if clientKey == nil { return nil }
            throw ValidationError("--client-key goes with --client-certificate.")
        }
        for file in [certificate, key ?? certificate] where !FileManager.default.isReadableFile(atPath: file) {
            throw ValidationError("--client-certificate, --client-key: \(file) cannot be read.")
        }
        return TLSFiles(certificateFile: certificate, keyFile: key ?? certificate)
    }

    /// Where to reach the server.
    func address() throws(ValidationError) -> AdminAddress { try named() ?? .folder(data.folder) }

    /// The store that is read without asking a server: the database of the settings, if they name one. `--data` may
    /// name a database too.
    func store() throws(ValidationError) -> StorePlace { try Self.store(data) }

    /// The data folder, for a command that copies or replaces the files of its store.
    static func folder(_ data: DataOptions, for command: String) throws -> DataFolder {
        guard case .database(let address) = try store(data) else { return data.folder }
        Terminal.complain(
            "reveille: the store is \(address), and reveille \(command) is for SQLite; use pg_dump and psql: see PostgreSQL in the article Operations"
        )
        throw Exit.unavailable
    }

    static func store(_ data: DataOptions) throws(ValidationError) -> StorePlace {
        do {
            let settings = try ConfigurationOptions.loader(data: data.withoutAddress, file: nil).settings()
            let realm = settings.text(.realm) ?? PostgresAddress.standardRealm
            guard let uri = data.address ?? settings.text(.store) else { return .folder(data.folder) }
            guard let address = settings.database(uri, realm: realm) else {
                throw ValidationError(
                    PostgresAddress.isAddress(uri) && PostgresAddress.isRealm(realm)
                        ? "store: \(PostgresAddress.unreadable); \(PostgresAddress.encodingAdvice)."
                        : "store and realm in the settings name no PostgreSQL database.")
            }
            return .database(address)
        } catch {
            throw error as? ValidationError ?? ValidationError("\(error)")
        }
    }

    private func configured() throws(ValidationError) -> (server: String?, token: String?) {
        do {
            let settings = try ConfigurationOptions.loader(data: data.withoutAddress, file: nil).settings()
            return (settings.text(.server), settings.text(.token))
        } catch {
            throw ValidationError("\(error)")
        }
    }

    private static func value(_ name: String, _ environment: [String: String]) -> String? {
        environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }
}
