import ChildProcess
import Foundation
import Glibc
import Synchronization
import Testing

/// A running program and its output.
final class Program: Sendable {
    /// The exit code of a program, or the signal that killed it.
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

    /// The complete output of a program.
    struct Result: Sendable {
        let ending: Ending
        let output: String
        let errors: String
        var errorLines: [Substring] { errors.split(separator: "\n") }

        /// Checks that a command failed with these words, and wrote nothing to standard output.
        /// - Parameter lines: the number of lines on standard error.
        func expectFailure(
            _ code: Int32, lines: Int? = nil, _ words: String..., sourceLocation: SourceLocation = #_sourceLocation
        ) {
            #expect(ending == .exit(code) && output.isEmpty, "\(self)", sourceLocation: sourceLocation)
            if let lines { #expect(errorLines.count == lines, "\(errors)", sourceLocation: sourceLocation) }
            for word in words { #expect(errors.contains(word), "\(errors)", sourceLocation: sourceLocation) }
        }
    }

    /// This package's executable, built next to the test bundle.
    static let reveille = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent().appendingPathComponent("reveille").path

    /// glibc fills memory with it when it is freed, and with its complement when it is allocated (mallopt(3)): what reads
    /// either fails each time.
    private static let perturbed = ["MALLOC_PERTURB_": "90"]

    let output: Journal<String>
    let errors: Journal<String>
    private let process: ChildProcess

    init(_ path: String, _ arguments: [String], environment: [String: String] = [:]) throws {
        let (output, errors) = (Journal<String>(), Journal<String>())
        (self.output, self.errors) = (output, errors)
        let whole = (path == Self.reveille ? Self.perturbed : [:]).merging(environment) { $1 }
        process = try ChildProcess.start(
            path, arguments, environment: whole.mapValues { $0 }, output: .pipe(Lines(of: output).add),
            errors: .apart(.pipe(Lines(of: errors).add)))
    }

    /// Splits a pipe's bytes into lines.
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
                // The end of the output.
                if part.isEmpty, !rest.isEmpty { journal.add(String(decoding: rest, as: UTF8.self)) }
            }
        }
    }

    var pid: Int32 { process.pid }

    func send(_ signal: Int32) { process.send(signal) }

    func ending(within limit: Duration = .seconds(40)) async throws -> Ending {
        guard let ending = await process.wait(atMost: limit) else { throw inVain("the program ends") }
        return Ending(ending)
    }

    /// Waits for its exit and its complete output.
    func result(within limit: Duration = .seconds(80)) async throws -> Result {
        guard let ending = await process.waitForExit(atMost: limit) else {
            throw inVain("the program ends and its pipes are closed")
        }
        return Result(
            ending: Ending(ending), output: output.entries.joined(separator: "\n"),
            errors: errors.entries.joined(separator: "\n"))
    }

    /// Sends a signal, and waits for its exit.
    @discardableResult
    func end(by signal: Int32) async throws -> Ending {
        send(signal)
        return try await ending()
    }

    private func inVain(_ what: String) -> InVain { InVain(what: what, seen: output.entries + errors.entries) }

    func abandon() async { _ = try? await end(by: SIGKILL) }

    static func run(_ path: String, _ arguments: [String], environment: [String: String] = [:]) async throws -> Result {
        let program = try Program(path, arguments, environment: environment)
        do {
            return try await program.result()
        } catch {
            await program.abandon()
            throw error
        }
    }

    static func reveille(_ arguments: String...) async throws -> Result {
        try await run(reveille, arguments)
    }

    static var scripts: String { Bundle.module.bundlePath + "/Scripts" }

    /// For Python programs: makes `Resources/clients/python` importable, and disables cached bytecode.
    static let python = [
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../../Resources/clients/python").standardized.path,
    ]

    /// Runs a script that acts as a client with Debian's Python libraries, and must exit with 0.
    @discardableResult
    static func script(
        _ name: String, _ arguments: String..., sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> Result {
        try await script(name, arguments, sourceLocation: sourceLocation)
    }

    static func script(
        _ name: String, _ arguments: [String], sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> Result {
        let result = try await run("/usr/bin/python3", [scripts + "/" + name] + arguments, environment: python)
        #expect(result.ending == .exit(0), "\(result.errors)", sourceLocation: sourceLocation)
        return result
    }
}
