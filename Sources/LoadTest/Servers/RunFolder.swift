import Foundation

/// The folder of one run, for what it starts. Any thread. ``remove()`` it at the end.
struct RunFolder: Sendable {
    let path: String

    /// Makes a folder that nobody else has, for this user only.
    /// - Parameter parent: where; nil: in the system's folder for temporary files.
    /// - Throws: ``LoadError``.
    init(in parent: String? = nil) throws {
        // Short: the server's admin socket lies in it, and the path of a socket has 107 bytes at most.
        let parent = parent.map { URL(filePath: $0).standardizedFileURL.path + "/" } ?? NSTemporaryDirectory()
        path = parent + "reveille-load-\(UUID().uuidString.prefix(8))"
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw LoadError("cannot write to \(path); name a folder that can be written with --data")
        }
        Remains.all.add(folder: path)
    }

    func remove() {
        // Only a temporary folder; the system removes what stays behind.
        try? FileManager.default.removeItem(atPath: path)
        Remains.all.forget(folder: path)
    }
}
