/// How wide the columns of a table are on a screen that has not room for all they want.
public struct ColumnLayout: Sendable {
    public struct Column: Sendable {
        /// In cells; with less it is left out.
        public var least: Int
        public var most: Int
        /// Columns of a higher rank are left out first; those of rank 0 never are.
        public var rank: Int

        public init(least: Int, most: Int, rank: Int = 0) {
            precondition(0 < least && least <= most, "a column has room")
            self.least = least
            self.most = most
            self.rank = rank
        }

        public static func fixed(_ width: Int, rank: Int = 0) -> Column {
            Column(least: width, most: width, rank: rank)
        }
    }

    /// Where a column stands.
    public struct Place: Equatable, Sendable {
        public var start: Int
        public var width: Int
    }

    private static let gap = 1

    /// - Returns: for each column its place, nil when it is left out.
    public static func places(_ columns: [Column], width: Int) -> [Place?] {
        var kept = Array(columns.indices)
        func need() -> Int { kept.reduce(0) { $0 + columns[$1].least } + gap * max(0, kept.count - 1) }
        while need() > width,
            let last = kept.filter({ columns[$0].rank > 0 }).max(by: { a, b in
                (columns[a].rank, a) < (columns[b].rank, b)
            })
        {
            kept.removeAll { $0 == last }
        }
        var widths = Dictionary(uniqueKeysWithValues: kept.map { ($0, columns[$0].least) })
        var room = width - need()
        // One cell each in turn, so that those that want more grow alike. As many rounds as there are cells at most.
        while room > 0 {
            let growing = kept.filter { widths[$0, default: 0] < columns[$0].most }
            guard !growing.isEmpty else { break }
            for column in growing where room > 0 {
                widths[column, default: 0] += 1
                room -= 1
            }
        }
        var places = [Place?](repeating: nil, count: columns.count)
        var start = 0
        for column in kept {
            let wanted = widths[column, default: 0]
            // The screen may be narrower than what is never left out.
            guard start < width else { break }
            places[column] = Place(start: start, width: min(wanted, width - start))
            start += wanted + gap
        }
        return places
    }
}
