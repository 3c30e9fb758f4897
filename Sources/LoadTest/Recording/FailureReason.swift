/// Reasons of failures as they are counted.
enum FailureReason {
    /// `reason` with numbers of milliseconds as `N`, so that failures of one kind count as one.
    static func common(_ reason: String) -> String {
        let unit = " ms"
        guard reason.contains(unit) else { return reason }
        var words = reason.split(separator: " ", omittingEmptySubsequences: false)
        for (place, next) in zip(words.indices, words.indices.dropFirst())
        where words[next].prefix(while: \.isLetter) == unit.dropFirst() && Int(words[place]) != nil {
            words[place] = "N"
        }
        return words.joined(separator: " ")
    }
}
