import ArgumentParser
import CallServer
import Foundation
import LibWebSockets
import ServerSettings

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
        let trust = caFile.map { LWSContext.Trust.file($0) } ?? .system
        let file = try configured()
        let token = token ?? Self.value("REVEILLE_TOKEN", environment) ?? file.token
        if let name { return try AdminAddress(name, token: token, trust: trust, source: "--server") }
        // What is said on the command line counts before what is set around it.
        guard data.path == nil else { return nil }
        if let name = Self.value("REVEILLE_SERVER", environment) {
            return try AdminAddress(name, token: token, trust: trust, source: "REVEILLE_SERVER")
        }
        guard let name = file.server else { return nil }
        return try AdminAddress(name, token: token, trust: trust, source: "server in the configuration file")
    }

    /// Where to reach the server.
    func address() throws(ValidationError) -> AdminAddress { try named() ?? .folder(data.folder) }

    private func configured() throws(ValidationError) -> (server: String?, token: String?) {
        do {
            let settings = try ConfigurationOptions.loader(data: data, file: nil).settings()
            return (settings.text(.server), settings.text(.token))
        } catch {
            throw ValidationError("\(error)")
        }
    }

    private static func value(_ name: String, _ environment: [String: String]) -> String? {
        environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }
}
