import ChildProcess
import Foundation

/// A file system in memory, of 160 MB, that a test can fill.
struct SmallDisk {
    let folder: String

    init() async throws {
        folder = "/tmp/reveille-disk-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        try await Self.run("/usr/bin/mount", ["-t", "tmpfs", "-o", "size=160m,mode=0755", "tmpfs", folder])
    }

    private var ballast: String { folder + "/ballast" }

    func fill() throws {
        guard FileManager.default.createFile(atPath: ballast, contents: nil) else {
            throw CocoaError(.fileWriteUnknown)
        }
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: ballast))
        let block = Data(repeating: 7, count: 1 << 16)
        while (try? file.write(contentsOf: block)) != nil {}
        try? file.close()
    }

    func free() throws { try FileManager.default.removeItem(atPath: ballast) }

    func remove() async throws {
        try await Self.run("/usr/bin/umount", ["-l", folder])
        try FileManager.default.removeItem(atPath: folder)
    }

    private static func run(_ program: String, _ arguments: [String]) async throws {
        let result = try await ChildProcess.run(program, arguments)
        guard result.ending == .exit(0) else {
            throw CocoaError(.fileWriteUnknown, userInfo: ["output": result.output])
        }
    }
}
