/// Why there is no result, and what to do about it.
public struct BenchmarkError: Error, Equatable, Sendable, CustomStringConvertible {
    public let description: String

    init(_ description: String) {
        self.description = description
    }
}
