/// A rule that books break, from the words of an audit: `3 pushes belong to no call, first 0199…`, or
/// `intended 5 ≠ sent 3 + queued 1`.
struct BrokenRule {
    /// What stays the same from one audit to the next: without how often, and the first case.
    let name: String
    /// How often it is broken, or by how much a sum is wrong; 1 where that is not told.
    let count: Int

    init(_ text: String) {
        if text.contains("≠") {
            name = text.prefix { !$0.isNumber }.description
            let numbers = text.split { !$0.isASCII || !$0.isNumber }.compactMap { Int($0) }
            count = abs(numbers.dropFirst().reduce(numbers.first ?? 0, -))
            return
        }
        // A cell of the ledger may hold less than nothing.
        let number = text.prefix { $0.isNumber || $0 == "-" }
        count = Int(number).map(abs) ?? 1
        let rest = text.dropFirst(number.count)
        name = String(rest.firstRange(of: ", first ").map { rest[..<$0.lowerBound] } ?? rest)
    }
}
