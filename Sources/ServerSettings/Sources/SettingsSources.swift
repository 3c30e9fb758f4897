import CallServer
import Configuration
import Foundation

/// Where the settings come from: the command line, then the environment, then the file; the defaults last.
public struct SettingsSources: Sendable {
    /// Names the file; no setting, because the file could not say it.
    static let fileVariable = "REVEILLE_CONFIG"
    /// In the data folder.
    static let standardFile = "reveille.yaml"

    public var flags: SettingFlags
    public var environment: [String: String]
    /// What `--config` named.
    public var file: String?

    public init(
        flags: SettingFlags = SettingFlags(), environment: [String: String] = ProcessInfo.processInfo.environment,
        file: String? = nil
    ) {
        self.flags = flags
        // A variable without a value is as good as none.
        self.environment = environment.filter { !$0.value.isEmpty }
        self.file = file
    }

    /// The file that is read: the one named, else `$REVEILLE_CONFIG`, else `reveille.yaml` in the data folder if there.
    public var path: String? {
        if let named = file ?? environment[Self.fileVariable] { return named }
        let path = dataFolder.path + "/" + Self.standardFile
        return FileManager.default.fileExists(atPath: path) ? path : nil
    }

    /// Without a look at the file, which may be in it.
    var dataFolder: DataFolder {
        if case .string(let path) = flags.values[Setting.data.key] { return DataFolder(path: path) }
        return .standard(in: environment)
    }
}
