/// Finds the probable meaning of a misspelled key.
package enum NearestKey {
    /// The setting or the group of settings that `key` probably means: misspelled, in another group, or without one.
    package static func ofSetting(_ key: String) -> String? {
        let word = key.lowercased().replacing("-", with: "_")
        let keys = Setting.all.map(\.key)
        let own = lastPart(word)
        let same = keys.filter { lastPart($0) == own }
        if same.count == 1 { return same[0] }
        if let near = of(word, among: keys, separator: ".") { return near }
        let measured = Set(keys.flatMap(groups(of:))).map { (key: $0, distance: distance(word, $0)) }
        if let near = measured.min(by: { ($0.distance, $0.key) < ($1.distance, $1.key) }),
            near.distance <= max(1, word.count / 3)
        {
            return near.key
        }
        let alike = keys.filter { distance(own, lastPart($0)) <= max(1, own.count / 6) }
        return alike.count == 1 ? alike[0] : nil
    }

    /// `push`, `push.apns` of `push.apns.key`.
    private static func groups(of key: String) -> [String] {
        let parts = key.split(separator: ".")
        return (1..<max(1, parts.count)).map { parts.prefix($0).joined(separator: ".") }
    }

    private static func lastPart(_ key: String) -> String { key.split(separator: ".").last.map(String.init) ?? key }

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
