/// Assigns widths to a table's columns on a screen that may be too narrow for all of them.
public struct ColumnLayout: Sendable {
    public struct Column: Sendable {
        /// In cells; with less space the column is omitted.
        public var least: Int
        public var most: Int
        /// Columns of a higher rank are omitted first; columns of rank 0 never are.
        public var rank: Int

        public init(least: Int, most: Int, rank: Int = 0) {
            precondition(0 < least && least <= most, "a column needs 0 < least <= most")
            self.least = least
            self.most = most
            self.rank = rank
        }

        public static func fixed(_ width: Int, rank: Int = 0) -> Column {
            Column(least: width, most: width, rank: rank)
        }
    }

    public struct Place: Equatable, Sendable {
        public var start: Int
        public var width: Int
    }

    private static let gap = 1

    /// - Returns: the position of each column; nil for an omitted one.
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
        // One cell at a time to each column in turn, so that all grow equally.
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
            // The screen may be too narrow for the columns of rank 0.
            guard start < width else { break }
            places[column] = Place(start: start, width: min(wanted, width - start))
            start += wanted + gap
        }
        return places
    }
}
