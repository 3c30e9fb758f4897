import Foundation

/// The folder of one run, for what it starts. Any thread. ``remove()`` it at the end.
struct RunFolder: Sendable {
    let path: String

    /// Makes a folder that nobody else has, for this user only.
    /// - Throws: ``LoadError``.
    init() throws {
        // Short: the server's admin socket lies in it, and the path of a socket has 107 bytes at most.
        path = NSTemporaryDirectory() + "reveille-load-\(UUID().uuidString.prefix(8))"
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw LoadError("cannot write to \(path); set TMPDIR to a folder that can be written")
        }
        Remains.all.add(folder: path)
    }

    func remove() {
        // Only a temporary folder; the system removes what stays behind.
        try? FileManager.default.removeItem(atPath: path)
        Remains.all.forget(folder: path)
    }
}
