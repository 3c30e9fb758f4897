import ArgumentParser
import CallServer
import StoreInterface

/// The server's data folder.
struct DataOptions: ParsableArguments {
    @Option(
        name: .customLong("data"),
        help: ArgumentHelp(
            "The server's data folder.",
            discussion: "Default: $REVEILLE_DATA, else reveille in $XDG_DATA_HOME, else ~/.local/share/reveille.",
            valueName: "folder"), completion: .directory)
    var path: String?

    func validate() throws {
        if let path { return try PostgresAddress.checkPlace(path, of: "--data") }
        guard !PostgresAddress.isMeant(by: DataFolder.standard.path) else {
            throw ValidationError("REVEILLE_DATA is no folder; it is not shown, for its password.")
        }
    }

    /// The database that commands read instead of a folder; nil for a folder.
    var address: String? { path.flatMap { PostgresAddress.isAddress($0) ? $0 : nil } }

    var withoutAddress: DataOptions {
        var options = self
        if address != nil { options.path = nil }
        return options
    }

    var folder: DataFolder { path.map { DataFolder(path: $0) } ?? .standard }
    /// The push simulator's data folder by default.
    var simulatorFolder: String { folder.path + "/push-sim" }
}

extension PostgresAddress {
    /// Refuses an address that cannot be read, or has a password, as an argument of a command. Neither is quoted.
    static func checkArgument(_ uri: String, of name: String) throws(ValidationError) {
        guard let address = PostgresAddress(uri) else {
            throw ValidationError("\(name): \(unreadable); \(encodingAdvice).")
        }
        guard !address.hasPassword else {
            throw ValidationError("\(name): \(passwordInArguments); \(passwordAdvice).")
        }
    }

    /// Refuses an argument that is neither the path of a folder nor such an address. It is not quoted either.
    static func checkPlace(_ text: String, of name: String) throws(ValidationError) {
        if isAddress(text) { return try checkArgument(text, of: name) }
        guard !isMeant(by: text) else {
            throw ValidationError(
                "\(name): neither a folder nor postgres://user@host/database; it is not shown, for its password.")
        }
    }
}
