import Foundation

/// The type of the file system of a folder, by the kernel's name: `ext4`.
package struct FileSystem: Equatable, Sendable, CustomStringConvertible {
    /// File systems in memory, which lose their files at power-off and sync for free.
    private static let memory: Set<String> = ["tmpfs", "ramfs"]

    package let description: String
    package var isMemory: Bool { Self.memory.contains(description) }

    /// nil when the type is unknown.
    package init?(of folder: String) {
        let path = URL(filePath: folder).resolvingSymlinksInPath().standardizedFileURL.path
        let mounts = FileManager.default.contents(atPath: "/proc/self/mountinfo") ?? Data()
        self.init(of: path, mounts: String(decoding: mounts, as: UTF8.self))
    }

    /// - Parameters:
    ///   - path: an absolute path, without symbolic links.
    ///   - mounts: `/proc/self/mountinfo`, as proc(5) describes it.
    package init?(of path: String, mounts: String) {
        var best: (length: Int, type: String)?
        for line in mounts.split(separator: "\n") {
            let fields = line.split(separator: " ")
            guard fields.count > 4, let dash = fields.firstIndex(of: "-"), dash + 1 < fields.count else { continue }
            let point = Self.unescaped(fields[4])
            guard point == "/" || path == point || path.hasPrefix(point + "/") else { continue }
            // Of two mounts on one folder the later one covers the earlier.
            if point.count >= best?.length ?? 0 { best = (point.count, String(fields[dash + 1])) }
        }
        guard let best else { return nil }
        description = best.type
    }

    /// proc(5) writes white space and backslashes in octal.
    private static func unescaped(_ field: Substring) -> String {
        ["\\040": " ", "\\011": "\t", "\\012": "\n", "\\134": "\\"].reduce(String(field)) {
            $0.replacing($1.key, with: $1.value)
        }
    }
}
