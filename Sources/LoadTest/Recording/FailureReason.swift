/// Reasons of failures as they are counted.
enum FailureReason {
    /// `reason` without what is another each time, so that failures of one kind are counted as one: for how many
    /// milliseconds a server wants to be left alone.
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
