import Foundation

/// What a benchmark has found, to be told.
public protocol BenchmarkResult: Encodable, Sendable {
    /// For people.
    var text: String { get }
}

extension BenchmarkResult {
    /// For programs: the same, indented, its keys in order.
    public var json: String {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            return String(decoding: try encoder.encode(self), as: UTF8.self)
        }
    }
}
