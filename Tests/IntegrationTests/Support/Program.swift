import ChildProcess
import Foundation
import Glibc
import Synchronization

/// A program under way, and what it says.
final class Program: Sendable {
    /// How a program ended: its exit code, or the signal that ended it.
    enum Ending: Equatable, Sendable {
        case exit(Int32)
        case signal(Int32)

        fileprivate init(_ ending: ChildProcess.Ending) {
            switch ending {
            case .exit(let code): self = .exit(code)
            case .signal(let signal): self = .signal(signal)
            }
        }
    }

    /// All that a program had to say.
    struct Result: Sendable {
        let ending: Ending
        let output: String
        let errors: String
        var errorLines: [Substring] { errors.split(separator: "\n") }
    }

    /// The executable of this package, built next to the tests' own.
    static let reveille = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent().appendingPathComponent("reveille").path

    let output: Journal<String>
    let errors: Journal<String>
    private let process: ChildProcess

    init(_ path: String, _ arguments: [String], environment: [String: String] = [:]) throws {
        let (output, errors) = (Journal<String>(), Journal<String>())
        (self.output, self.errors) = (output, errors)
        process = try ChildProcess.start(
            path, arguments, environment: environment.mapValues { $0 }, output: .pipe(Lines(of: output).add),
            errors: .apart(.pipe(Lines(of: errors).add)))
    }

    /// Takes apart what a pipe brings.
    private final class Lines: Sendable {
        private let journal: Journal<String>
        private let rest = Mutex<[UInt8]>([])

        init(of journal: Journal<String>) { self.journal = journal }

        func add(_ part: [UInt8]) {
            rest.withLock { rest in
                rest += part
                while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                    journal.add(String(decoding: rest[..<end], as: UTF8.self))
                    rest.removeFirst(end + 1)
                }
                // The end.
                if part.isEmpty, !rest.isEmpty { journal.add(String(decoding: rest, as: UTF8.self)) }
            }
        }
    }

    /// Of its process.
    var pid: Int32 { process.pid }

    func send(_ signal: Int32) { process.send(signal) }

    /// Waits for its end.
    func ending(within limit: Duration = .seconds(15)) async throws -> Ending {
        guard let ending = await process.wait(atMost: limit) else { throw inVain("the program ends") }
        return Ending(ending)
    }

    /// Waits for its end and for all it had to say.
    func result(within limit: Duration = .seconds(30)) async throws -> Result {
        guard let ending = await process.waitForExit(atMost: limit) else {
            throw inVain("the program ends and its pipes are closed")
        }
        return Result(
            ending: Ending(ending), output: output.entries.joined(separator: "\n"),
            errors: errors.entries.joined(separator: "\n"))
    }

    /// Sends a signal, and waits for its end.
    @discardableResult
    func end(by signal: Int32) async throws -> Ending {
        send(signal)
        return try await ending()
    }

    private func inVain(_ what: String) -> InVain { InVain(what: what, seen: output.entries + errors.entries) }

    /// Ends it if it still runs.
    func abandon() async { _ = try? await end(by: SIGKILL) }

    /// Runs a program to its end.
    static func run(_ path: String, _ arguments: [String], environment: [String: String] = [:]) async throws -> Result {
        let program = try Program(path, arguments, environment: environment)
        do {
            return try await program.result()
        } catch {
            await program.abandon()
            throw error
        }
    }

    /// Runs `reveille` to its end.
    static func reveille(_ arguments: String...) async throws -> Result {
        try await run(reveille, arguments)
    }

    /// The folder of the scripts.
    static var scripts: String { Bundle.module.bundlePath + "/Scripts" }

    /// Runs one of the scripts that play a client with Debian's Python libraries.
    /// For Python programs: with the client in `Resources/clients/python`, and without files beside it.
    static let python = [
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../../Resources/clients/python").standardized.path,
    ]

    static func script(_ name: String, _ arguments: String...) async throws -> Result {
        try await script(name, arguments)
    }

    static func script(_ name: String, _ arguments: [String]) async throws -> Result {
        let path = scripts + "/" + name
        return try await run("/usr/bin/python3", [path] + arguments, environment: python)
    }
}
