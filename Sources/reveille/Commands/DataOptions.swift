import ArgumentParser
import CallServer

/// The server's data folder.
struct DataOptions: ParsableArguments {
    @Option(
        name: .customLong("data"),
        help: ArgumentHelp(
            "The server's data folder.",
            discussion: "Default: $REVEILLE_DATA, else reveille in $XDG_DATA_HOME, else ~/.local/share/reveille.",
            valueName: "folder"), completion: .directory)
    var path: String?

    var folder: DataFolder { path.map { DataFolder(path: $0) } ?? .standard }
    /// The push simulator's data folder by default.
    var simulatorFolder: String { folder.path + "/push-sim" }
}
