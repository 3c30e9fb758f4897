import ChildProcess
import Foundation
import Testing

@testable import Benchmarks

@Suite("The file of a result") struct ResultFileTests {
    /// The executable of this package, built next to the tests' own.
    private static let bench = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        .appending(path: "reveille-bench").path

    private func run(json: String) async throws -> ChildProcess.Result {
        try await ChildProcess.run(
            Self.bench, ["codec", "--rounds", "1", "--seconds", "0", "--json", json], areErrorsApart: true)
    }

    @Test("that cannot be written is told of before anything is measured: 64", .timeLimit(.minutes(5)))
    func early() async throws {
        let result = try await run(json: "/no/such/r.json")
        #expect(result.ending == .exit(64))
        #expect(result.output.isEmpty && !result.errors.contains("round 1"), "\(result.errors)")
        #expect(
            result.errors.hasPrefix(
                "Error: --json: the result cannot be written to '/no/such/r.json': No such file or directory; name a file"
            ),
            "\(result.errors)")
    }

    @Test("that is - is standard output, with nothing else there", .timeLimit(.minutes(5)))
    func standardOutput() async throws {
        let result = try await run(json: "-")
        #expect(result.ending == .exit(0), "\(result.errors)")
        let report = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any]
        #expect(report?["part"] as? String == "codec")
        #expect(result.errors.contains("medians of 1 rounds"))
    }

    @Test("is not made, and not changed, by looking whether it can be written")
    func check() throws {
        let path = NSTemporaryDirectory() + "result-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let file = ResultFile(path: path)
        try file.check()
        #expect(!FileManager.default.fileExists(atPath: path))
        try file.write([1])
        try file.check()
        #expect(FileManager.default.contents(atPath: path) == Data("[\n  1\n]".utf8))
        #expect(throws: BenchmarkError.self) { try ResultFile(path: NSTemporaryDirectory()).check() }
    }

    @Test("that has no room for it, standard output above all, is told of: 2", arguments: ["", "--json -"])
    func full(option: String) async throws {
        let line = "\(Self.bench) codec --rounds 1 --seconds 0 \(option) > /dev/full"
        let result = try await ChildProcess.run("/bin/bash", ["-c", line], areErrorsApart: true)
        #expect(result.ending == .exit(2))
        #expect(result.errors.contains("the result cannot be written"), "\(result.errors)")
    }
}
