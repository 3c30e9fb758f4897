import CallVocabulary

/// Event counts for each of the last seconds.
struct RecentCounts {
    /// The longest period that can be summed.
    static let seconds = 60

    private let columns: Int
    /// A ring of seconds with all columns of each, including the current second.
    private var counts: [UInt32]
    /// The current second since the epoch.
    private var second: Int64

    /// - Parameter columns: the number of event kinds.
    init(columns: Int, now: Instant) {
        self.columns = columns
        counts = Array(repeating: 0, count: columns * (Self.seconds + 1))
        second = now.wholeSeconds
    }

    mutating func add(_ column: Int, now: Instant) {
        advance(to: now)
        counts[row(second) + column] += 1
    }

    /// The sum over the last complete seconds.
    mutating func sum(_ column: Int, last seconds: Int, now: Instant) -> Int {
        advance(to: now)
        return (1...Int64(min(seconds, Self.seconds))).reduce(0) { $0 + Int(counts[row(second - $1) + column]) }
    }

    private func row(_ second: Int64) -> Int {
        let rows = Int64(Self.seconds + 1)
        return Int((second % rows + rows) % rows) * columns
    }

    private mutating func advance(to now: Instant) {
        let target = now.wholeSeconds
        guard target > second else { return }
        // After a gap longer than the ring, each slot is cleared once.
        second = max(second, target - Int64(Self.seconds) - 1)
        while second < target {
            second += 1
            let row = row(second)
            for column in 0..<columns { counts[row + column] = 0 }
        }
    }
}
