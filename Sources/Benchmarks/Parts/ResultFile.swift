import Foundation
import Glibc

/// Where a result is written as JSON.
public struct ResultFile: Sendable {
    /// What stands for standard output.
    private static let standardOutput = "-"

    private let path: String

    public init(path: String) { self.path = path }

    /// Whether the result goes to standard output, so that what is for people goes beside it.
    public var isStandardOutput: Bool { path == Self.standardOutput }

    /// Tries whether it can be written, to be done before there is anything to write. Leaves no file behind that was not
    /// there.
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
    /// - Throws: ``BenchmarkError`` when it takes no more.
    public static func print(_ line: String) throws {
        do {
            try FileHandle.standardOutput.write(contentsOf: Data("\(line)\n".utf8))
        } catch {
            throw BenchmarkError("the result cannot be written: \(error.localizedDescription)")
        }
    }
}
