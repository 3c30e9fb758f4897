import Glibc

/// Why there is no result, and what to do about it.
public struct BenchmarkError: Error, Equatable, Sendable, CustomStringConvertible {
    public let description: String

    init(_ description: String) {
        self.description = description
    }

    /// What a call of the system has just failed for.
    static func system(_ what: String) -> BenchmarkError {
        BenchmarkError("\(what): \(String(cString: strerror(errno)))")
    }
}
