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
