import Foundation
import Glibc

/// The file for a result in JSON.
public struct ResultFile: Sendable {
    /// The path that means standard output.
    private static let standardOutput = "-"

    private let path: String

    public init(path: String) { self.path = path }

    /// Whether the result goes to standard output, so that texts for people go to standard error.
    public var isStandardOutput: Bool { path == Self.standardOutput }

    /// Checks before the benchmark that the file is writable. Leaves no new file behind.
    /// - Throws: ``BenchmarkError``.
    public func check() throws {
        guard !isStandardOutput else { return }
        let isNew = access(path, F_OK) != 0
        let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o666)
        guard file >= 0 else {
            throw BenchmarkError.system("the result cannot be written to '\(path)'")
        }
        close(file)
        if isNew { unlink(path) }
    }

    /// Writes a result as indented JSON with sorted keys.
    /// - Throws: ``BenchmarkError``.
    public func write(_ result: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        let json = String(decoding: try encoder.encode(result), as: UTF8.self)
        guard !isStandardOutput else { return try Self.print(json) }
        do {
            try Data(json.utf8).write(to: URL(fileURLWithPath: path))
        } catch {
            throw BenchmarkError("the result cannot be written to '\(path)': \(error.localizedDescription)")
        }
    }

    /// Writes a line to standard output.
    /// - Throws: ``BenchmarkError`` when the write fails.
    public static func print(_ line: String) throws {
        do {
            try FileHandle.standardOutput.write(contentsOf: Data("\(line)\n".utf8))
        } catch {
            throw BenchmarkError("the result cannot be written: \(error.localizedDescription)")
        }
    }
}
