import CallVocabulary
import EventLoop
import Foundation

/// A server's data folder: the store, and the generated secrets.
public struct DataFolder: Sendable {
    public let path: String

    /// An error with the folder, and advice.
    public struct Failure: Error, CustomStringConvertible, Sendable {
        public let description: String
    }

    public init(path: String) {
        self.path = path
    }

    /// `$REVEILLE_DATA`, otherwise `reveille` in `$XDG_DATA_HOME`, otherwise in `~/.local/share`.
    public static var standard: DataFolder { standard(in: ProcessInfo.processInfo.environment) }

    /// ``standard``, by the given environment variables.
    public static func standard(in environment: [String: String]) -> DataFolder {
        if let path = environment["REVEILLE_DATA"], !path.isEmpty { return DataFolder(path: path) }
        if let base = environment["XDG_DATA_HOME"], !base.isEmpty { return DataFolder(path: base + "/reveille") }
        // Foundation takes the home folder from the user database, not from `HOME` as a shell does.
        let home = environment["HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? NSHomeDirectory()
        return DataFolder(path: home + "/.local/share/reveille")
    }

    /// Creates the folder with access for its owner only, and checks that it is writable.
    public func prepare() throws {
        var isFolder: ObjCBool = false
        let exists = FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
        guard !exists || isFolder.boolValue else {
            throw Failure(description: "\(path) is a file; name a folder with --data")
        }
        if let file = Self.file(above: path) {
            throw Failure(
                description: "\(file) is a file, and \(path) can be no folder in it; name another with --data")
        }
        do {
            if !exists {
                try FileManager.default.createDirectory(
                    atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            }
            // Where others can write in the folder, a link may have this name: its target must stay as it is.
            let probe = path + "/.probe-\(ProcessInfo.processInfo.processIdentifier)"
            try PrivateFile.write([UInt8](), to: probe)
            try FileManager.default.removeItem(atPath: probe)
        } catch {
            let remedy = (error as? SystemError)?.machineRemedy ?? "make it writable for this user"
            throw Failure(
                description: "the data folder \(path) cannot be written (\(Self.reason(error))); "
                    + "name another with --data, or \(remedy)")
        }
    }

    /// What every user of the machine can do with the folder; each with advice: read secrets and the store's files, which
    /// contain push tokens and calls, or write files, or replace them in a folder that can be written or that is another
    /// user's. Links count as what they lead to.
    public func exposures() -> [String] {
        let folders = folderExposures
        // Without search permission on the folder others cannot access its files.
        guard Self.isOpen(path, to: 0o001, as: S_IFDIR) else { return folders }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        let files = names.sorted().flatMap { name -> [String] in
            let file = path + "/" + name
            let isSecret = name.contains(".key") || name.contains(".sqlite3")
            let rights: [(verb: String, bit: UInt32, letter: String, matters: Bool)] = [
                ("read", 0o004, "r", isSecret), ("written", 0o002, "w", true),
            ]
            return rights.filter { $0.matters && Self.isOpen(file, to: $0.bit, as: S_IFREG) }.map {
                "\(file) can be \($0.verb) by every user of this machine; remove that right: chmod o-\($0.letter) \(file)"
            }
        }
        return folders + files
    }

    private static func isOpen(_ path: String, to permission: UInt32, as type: UInt32) -> Bool {
        guard let status = FileStatus(path: path) else { return false }
        return status.mode & S_IFMT == type && status.mode & permission != 0
    }

    /// The owner that a container shows for users without a number in it (`overflowuid`).
    private static let unknownOwner: uid_t = 65_534

    /// The exposures by the permissions or the owner of the folder, and of the folders above it. Above it the sticky bit,
    /// as of `/tmp`, keeps other users from replacing what is not theirs. The owner of a folder can replace everything.
    private var folderExposures: [String] {
        let folders = [path] + Self.folders(above: URL(filePath: path).resolvingSymlinksInPath())
        return folders.enumerated().compactMap { index, folder -> String? in
            guard let status = FileStatus(path: folder) else { return nil }
            // Who may not enter a folder can write no file in it.
            let (toAll, sticky): (UInt32, UInt32) = (0o003, index == 0 ? 0 : 0o1000)
            if status.mode & (toAll | sticky) == toAll {
                return Self.openness(of: folder)
            }
            guard ![0, geteuid(), Self.unknownOwner].contains(status.owner) else { return nil }
            return "\(folder) belongs to another user of this machine, who can replace what is in it; "
                + "make it this user's, or name another with --data: chown \(geteuid()) \(folder)"
        }
    }

    private static func openness(of folder: String) -> String {
        "\(folder) can be written by every user of this machine, who can replace what is in it; "
            + "remove that right: chmod o-w \(folder)"
    }

    private static func folders(above place: URL) -> [String] {
        var (place, folders): (URL, [String]) = (place, [])
        while place.path.hasPrefix("/"), place.path != "/" {
            place.deleteLastPathComponent()
            folders.append(place.path)
        }
        return folders
    }

    /// The folders in which every user of the machine can replace the file, or the link to it; with advice.
    public static func exposures(ofFoldersOf file: String) -> [String] {
        let place = URL(filePath: file).standardizedFileURL
        var seen: Set<String> = []
        return (folders(above: place) + folders(above: place.resolvingSymlinksInPath()))
            .filter { seen.insert($0).inserted }
            .compactMap { folder -> String? in
                guard let status = FileStatus(path: folder), status.mode & (0o003 | 0o1000) == 0o003 else {
                    return nil
                }
                return openness(of: folder)
            }
    }

    /// The secret in `file`, the first one of several: 32 random bytes, generated on first use, readable by the owner
    /// only.
    public func secret(_ file: String) throws -> [UInt8] { try secrets(file)[0] }

    /// The secrets in `file`, one a line; at least one. During a rotation the new one and the old one stand there.
    func secrets(_ file: String) throws -> [[UInt8]] {
        let path = self.path + "/" + file
        if let kept = try Self.kept(at: path) { return kept }
        var generator = SystemRandomNumberGenerator()
        let bytes = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        let text = bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() + "\n"
        if try create(file, text: text) { return [bytes] }
        guard let kept = try Self.kept(at: path) else {
            throw Failure(description: "cannot write \(path): the file was there, and is gone")
        }
        return kept
    }

    /// Creates a file that its owner alone can read. Atomic and exclusive: of two programs that start together, the
    /// second uses the first one's secret. On disk before it returns, because clients may hold what follows from a
    /// secret.
    /// - Returns: false when the file exists.
    func create(_ file: String, text: String) throws(Failure) -> Bool {
        try write(text.utf8, to: file, isNew: true)
    }

    /// Writes a file that its owner alone can read, replacing an earlier one.
    func replace(_ file: String, with content: some Sequence<UInt8>) throws(Failure) {
        _ = try write(content, to: file, isNew: false)
    }

    private func write(_ content: some Sequence<UInt8>, to file: String, isNew: Bool) throws(Failure) -> Bool {
        do throws(SystemError) {
            return try PrivateFile.write(content, to: path + "/" + file, isNew: isNew)
        } catch {
            let remedy =
                error.errno == EISDIR
                ? "move the folder \(path)/\(file) away"
                : error.machineRemedy ?? "make the data folder writable for this user"
            throw Failure(description: "cannot write \(path)/\(file) (\(error)); \(remedy)")
        }
    }

    /// Renames a file, so that another can take its place.
    /// - Returns: its new path.
    func setAside(_ file: String) throws -> String {
        let path = self.path + "/" + file
        let other = path + ".replaced-\(UUID().uuidString.prefix(8))"
        guard rename(path, other) == 0 else {
            throw Failure(description: "cannot move \(path) aside: \(String(cString: strerror(errno)))")
        }
        return other
    }

    /// A file's text; nil when there is no such file.
    static func text(at path: String) throws -> String? {
        try bytes(at: path).map { String(decoding: $0, as: UTF8.self) }
    }

    /// A file's bytes; nil when there is no such file.
    /// - Parameter without: what happens if the file is moved away.
    static func bytes(at path: String, without: String? = nil) throws(Failure) -> [UInt8]? {
        do throws(SystemError) {
            return try PrivateFile.read(path)
        } catch {
            throw unreadable(path, error, without: without)
        }
    }

    static func unreadable(_ path: String, _ error: SystemError, without: String?) -> Failure {
        let otherwise = without.map { ", or move it away: \($0)" } ?? ""
        let remedy = error.machineRemedy ?? "make it a file that this user can read\(otherwise)"
        return Failure(description: "\(path) cannot be read (\(error)); \(remedy)")
    }

    /// The secrets in the file at `path`, which must exist.
    static func secrets(file path: String) throws -> [[UInt8]] {
        guard let kept = try kept(at: path) else {
            throw Failure(description: "cannot read \(path); name a file that holds the server's secret")
        }
        return kept
    }

    /// The secrets in a file; nil when there is no such file.
    private static func kept(at path: String) throws -> [[UInt8]]? {
        guard let text = try text(at: path) else { return nil }
        guard let secrets = secrets(in: text) else {
            throw Failure(
                description: "\(path) does not hold a secret of at least 64 hexadecimal digits; "
                    + "restore it, or delete it to have a new one made (tokens signed with the old one then fail)")
        }
        return secrets
    }

    /// The secrets in the text of a file, one a line, each of 64 hexadecimal digits or more; nil for any other text.
    package static func secrets(in text: String) -> [[UInt8]]? {
        let lines = text.split(whereSeparator: \.isNewline).map { $0.trimmingCharacters(in: .whitespaces) }
            .filter { !$0.isEmpty }
        let secrets = lines.compactMap(bytes(hexadecimal:)).filter { $0.count >= 32 }
        return secrets.isEmpty || secrets.count < lines.count ? nil : secrets
    }

    private static func bytes(hexadecimal text: String) -> [UInt8]? {
        guard text.utf8.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        var rest = Substring(text)
        while !rest.isEmpty {
            guard let byte = UInt8(digits: rest.prefix(2), radix: 16, in: 0...UInt8.max) else { return nil }
            bytes.append(byte)
            rest = rest.dropFirst(2)
        }
        return bytes
    }

    /// The beginning of a path that is a file; nil without one.
    private static func file(above path: String) -> String? {
        var parent = path[...]
        while let slash = parent.lastIndex(of: "/"), slash != parent.startIndex {
            parent = parent[..<slash]
            var isFolder: ObjCBool = false
            if FileManager.default.fileExists(atPath: String(parent), isDirectory: &isFolder) {
                return isFolder.boolValue ? nil : String(parent)
            }
        }
        return nil
    }

    private static func reason(_ error: any Error) -> String {
        if let failure = error as? SystemError { return String(cString: strerror(failure.errno)) }
        let underlying = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError
        let words = (underlying ?? error as NSError).localizedDescription
        // It goes into a sentence.
        return words.hasSuffix(".") ? String(words.dropLast()) : words
    }
}
