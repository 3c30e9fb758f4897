import Glibc
import Testing

/// The durations of test cases, for `Tests/slowest`.
public enum TestTimes {
    /// Runs `body`, and adds its duration to the file that the environment variable `TEST_TIMES` names: a line with the
    /// seconds and the test's ID. Without the variable it measures nothing.
    public static func measure(_ test: Test, _ body: () async throws -> Void) async throws {
        guard let file = getenv("TEST_TIMES") else { return try await body() }
        let start = ContinuousClock.now
        let result: Result<Void, any Error>
        do {
            result = .success(try await body())
        } catch {
            result = .failure(error)
        }
        let line = "\((ContinuousClock.now - start) / .seconds(1)) \(test.id)\n"
        let descriptor = open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o644)
        _ = line.withCString { write(descriptor, $0, strlen($0)) }
        close(descriptor)
        try result.get()
    }
}
