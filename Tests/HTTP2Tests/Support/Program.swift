import Foundation
import Synchronization

/// A program of the system, run by a test.
struct Program {
    struct Missing: Error, CustomStringConvertible {
        let name: String
        let package: String
        var description: String { "\(name) is not installed and these tests need it: apt install \(package)" }
    }

    struct Outcome {
        let status: Int32
        let output: String
    }

    let path: String

    /// - Throws: ``Missing``, which says what to install.
    init(_ name: String, package: String) throws {
        let places = ["/usr/bin", "/usr/sbin", "/usr/local/bin", "/bin"].map { "\($0)/\(name)" }
        guard let path = places.first(where: FileManager.default.isExecutableFile) else {
            throw Missing(name: name, package: package)
        }
        self.path = path
    }

    /// Runs it to its end, at most 30 s long.
    func run(_ arguments: [String], directory: URL? = nil) async throws -> Outcome {
        let running = try RunningProgram(path, arguments, directory: directory)
        return try await running.outcome()
    }
}

/// A program that is running; stopped at the latest when it is released.
final class RunningProgram: Sendable {
    private enum Fact: Sendable {
        case output(Data)
        case ended(Int32)
    }

    private let journal = Journal<Fact>()
    private let process = Process()

    init(_ path: String, _ arguments: [String], directory: URL? = nil) throws {
        let pipe = Pipe()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        process.currentDirectoryURL = directory
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = pipe
        process.standardError = pipe
        let reader = pipe.fileHandleForReading
        try process.run()
        // A thread of its own: reading and waiting block. It ends with the program, which closes the pipe.
        Thread.detachNewThread { [journal, process] in
            while case let data = reader.availableData, !data.isEmpty { journal.append(.output(data)) }
            process.waitUntilExit()
            journal.append(.ended(process.terminationStatus))
        }
    }

    deinit { stop() }

    func stop() {
        // Not SIGTERM: the program inherits the signal mask of the thread that started it, and the threads of Swift's
        // pool block that one.
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    }

    /// Runs it for as long as `body` takes, and waits until it and the thread that reads it are done.
    static func during<Result>(
        _ path: String, _ arguments: [String], _ body: (RunningProgram) async throws -> Result
    ) async throws -> Result {
        let running = try RunningProgram(path, arguments)
        let result: Swift.Result<Result, any Error>
        do {
            result = .success(try await body(running))
        } catch {
            result = .failure(error)
        }
        running.stop()
        _ = try await running.outcome()
        return try result.get()
    }

    func outcome() async throws -> Program.Outcome {
        let status = try await journal.first("end of the program") { fact in
            if case .ended(let status) = fact { status } else { nil }
        }
        return Program.Outcome(status: status, output: Self.output(journal.entries))
    }

    func waitForOutput(_ text: String) async throws {
        try await journal.wait(for: "output \(text)") { Self.output($0).contains(text) }
    }

    private static func output(_ facts: [Fact]) -> String {
        var all = Data()
        for case .output(let data) in facts { all += data }
        return String(decoding: all, as: UTF8.self)
    }
}
