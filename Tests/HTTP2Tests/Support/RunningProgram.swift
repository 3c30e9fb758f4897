import ChildProcess
import EventJournal
import Glibc

/// A program that runs for as long as a test needs it.
struct RunningProgram {
    private let journal: Journal<[UInt8]>

    /// Runs it for as long as `body` takes, and waits until it has ended.
    static func during<Result>(
        _ path: String, _ arguments: [String], _ body: (RunningProgram) async throws -> Result
    ) async throws -> Result {
        let journal = Journal<[UInt8]>()
        let child = try ChildProcess.start(path, arguments, output: .pipe(journal.append))
        let result: Swift.Result<Result, any Error>
        do {
            result = .success(try await body(RunningProgram(journal: journal)))
        } catch {
            result = .failure(error)
        }
        child.send(SIGKILL)
        await child.stop(atMost: .seconds(20))
        return try result.get()
    }

    func waitForOutput(_ text: String) async throws {
        try await journal.wait(for: "output \(text)") { String(decoding: $0.joined(), as: UTF8.self).contains(text) }
    }
}
