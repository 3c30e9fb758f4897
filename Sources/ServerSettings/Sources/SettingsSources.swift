import CallServer
import Configuration
import EventLoop
import Foundation

/// The sources of settings, by precedence: command line, environment, file, defaults.
public struct SettingsSources: Sendable {
    /// Names the file; no setting, because the file could not say it.
    static let fileVariable = "REVEILLE_CONFIG"
    /// In the data folder.
    static let standardFile = "reveille.yaml"

    public var flags: SettingFlags
    public var environment: [String: String]
    /// The value of `--config`.
    public var file: String?

    public init(
        flags: SettingFlags = SettingFlags(), environment: [String: String] = ProcessInfo.processInfo.environment,
        file: String? = nil
    ) {
        self.flags = flags
        // An empty variable counts as unset.
        self.environment = environment.filter { !$0.value.isEmpty }
        self.file = file
    }

    /// The file that is read: the one named, else `$REVEILLE_CONFIG`, else `reveille.yaml` in the data folder if there.
    public var path: String? {
        if let named = file ?? environment[Self.fileVariable] { return named }
        let path = dataFolder.path + "/" + Self.standardFile
        // A link that leads nowhere is not taken for no file: the server would start with the defaults.
        return PrivateFile.isThere(path) ? path : nil
    }

    /// Without a look at the file, which may be in it.
    var dataFolder: DataFolder {
        if case .string(let path) = flags.values[Setting.data.key] { return DataFolder(path: path) }
        return .standard(in: environment)
    }
}
