import EventLoop
import Foundation

/// A file that a setting names, or the settings file: the next start needs it.
public struct NamedFile: Equatable, Sendable {
    /// The key of the setting.
    public let setting: String
    public let path: String
    /// Whether it was empty when it was read.
    let isEmpty: Bool

    /// Whether a start would not find it, or find it empty. Blocks on the disk.
    public var isMissing: Bool {
        guard let status = FileStatus(path: path), status.mode & S_IFMT == S_IFREG, access(path, R_OK) == 0 else {
            return true
        }
        return status.size == 0 && !isEmpty
    }
}

/// The contents of the files that settings name: a renewed certificate keeps its path.
struct SettingsFiles: Sendable {
    struct File {
        let text: String
        /// See ``SettingsFiles/permissions(of:)``.
        let permissions: Int
    }

    struct Failure: Error {
        let reason: String
        let advice: String
    }

    /// The size limit for keys and certificates, in bytes: a larger file is a wrong path.
    private static let longest = 1024 * 1024

    /// A fingerprint of the files' contents by setting key, valid within this process.
    private(set) var marks: [String: [Int]] = [:]
    /// Those that were read.
    private(set) var named: [NamedFile] = []

    mutating func read(_ path: String, for setting: Setting) throws(Failure) -> File {
        let bytes = try content(of: path)
        guard let text = String(data: Data(bytes), encoding: .utf8) else {
            throw Failure(reason: "\(path) is not text", advice: "keys and certificates are given in PEM or JSON")
        }
        // Of the bytes: Swift sorts the combining marks of a text before it hashes it.
        marks[setting.key, default: []].append(bytes.hashValue)
        named.append(NamedFile(setting: setting.key, path: path, isEmpty: bytes.isEmpty))
        return File(text: text, permissions: Self.permissions(of: path))
    }

    /// The permissions of the file that a path leads to, also through links, as those of a renewed certificate; 0 for
    /// anything but a file.
    static func permissions(of path: String) -> Int {
        guard let status = FileStatus(path: path), status.mode & S_IFMT == S_IFREG else { return 0 }
        return Int(status.mode & 0o777)
    }

    private func content(of path: String) throws(Failure) -> [UInt8] {
        var (reason, remedy) = ("cannot read \(path)", "check the path and its permissions")
        do throws(SystemError) {
            if let bytes = try PrivateFile.read(path, longest: Self.longest) { return bytes }
        } catch {
            reason = "cannot \(error)"
            remedy = error.machineRemedy ?? remedy
        }
        // A text that is no path may be a key given instead of its file.
        let isPath = (path.contains("/") || !path.contains(":")) && !ShownText.mayHaveSecret(path)
        throw Failure(
            reason: isPath ? reason : "cannot read what was given; it takes the path of a file",
            advice: remedy)
    }
}
