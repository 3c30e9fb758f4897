import Foundation
import PushClient
import ServerSettings

/// A folder with files, and settings that are read from it.
final class Scene {
    /// As the simulator's: it has never run.
    struct NoSimulator: Error, CustomStringConvertible {
        let description = "no simulator"
    }

    let folder: String
    var environment: [String: String] = [:]
    var flags = SettingFlags()

    init() throws {
        folder = NSTemporaryDirectory() + "reveille-settings-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder + "/data", withIntermediateDirectories: true)
        environment["XDG_DATA_HOME"] = folder + "/xdg"
        environment["REVEILLE_DATA"] = folder + "/data"
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    var file: String { folder + "/reveille.yaml" }

    @discardableResult
    func write(_ text: String, to name: String = "reveille.yaml", permissions: Int = 0o600) throws -> String {
        let path = folder + "/" + name
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: path)
        return path
    }

    func remove(_ name: String) throws {
        try FileManager.default.removeItem(atPath: folder + "/" + name)
    }

    /// Reads the file that was written, if one was.
    var loader: SettingsLoader {
        let named = FileManager.default.fileExists(atPath: file) ? file : nil
        return loader(file: named)
    }

    func loader(file: String?) -> SettingsLoader {
        SettingsLoader(SettingsSources(flags: flags, environment: environment, file: file)) { _ in throw NoSimulator() }
    }

    func load() throws -> LoadedSettings { try loader.load() }

    /// The faults, with the folder's path as `DIR`.
    func faults() throws -> [String] {
        try load().faults.map {
            ($0.isWarning ? "warning: " : "") + $0.description.replacing(folder, with: "DIR")
        }
    }
}
