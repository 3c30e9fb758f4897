/// Finds the probable meaning of a misspelled key.
enum NearestKey {
    /// The candidate most like `text`, if there is one like it: a few letters apart, or `text` is all of it but its
    /// beginning or its end.
    static func of(_ text: String, among candidates: [String], separator: Character) -> String? {
        let nearest = candidates.map { (key: $0, distance: distance(text, $0)) }.min { $0.distance < $1.distance }
        if let nearest, nearest.distance <= max(2, text.count / 4) { return nearest.key }
        let longer = candidates.filter { $0.hasPrefix(text) || $0.hasSuffix("\(separator)\(text)") }
        return longer.count == 1 ? longer[0] : nil
    }

    /// The edit distance (Levenshtein).
    private static func distance(_ first: String, _ second: String) -> Int {
        let (first, second) = (Array(first.prefix(longest)), Array(second.prefix(longest)))
        var row = Array(0...second.count)
        for (index, letter) in first.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for column in second.indices {
                let change = diagonal + (letter == second[column] ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(change, row[column] + 1, diagonal + 1)
            }
        }
        return row[second.count]
    }

    /// The most characters compared; all keys are much shorter.
    private static let longest = 100
}
