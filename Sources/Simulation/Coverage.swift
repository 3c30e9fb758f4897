/// Event counts by name. They show what a set of runs never tried.
public struct Coverage: Equatable, Sendable {
    private var counts: [String: Int] = [:]

    public init() {}

    public subscript(name: String) -> Int { counts[name] ?? 0 }

    mutating func count(_ name: String) { counts[name, default: 0] += 1 }

    public var lines: [(name: String, count: Int)] {
        counts.sorted { $0.key < $1.key }.map { (name: $0.key, count: $0.value) }
    }

    public mutating func add(_ other: Coverage) {
        for (name, count) in other.counts { counts[name, default: 0] += count }
    }
}
