import Glibc

/// Why there is no result, with advice.
public struct BenchmarkError: Error, Equatable, Sendable, CustomStringConvertible {
    public let description: String

    init(_ description: String) {
        self.description = description
    }

    /// An error with the message of `errno`.
    static func system(_ what: String) -> BenchmarkError {
        BenchmarkError("\(what): \(String(cString: strerror(errno)))")
    }
}
