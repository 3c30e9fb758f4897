/// A violated invariant, from the words of an audit: `3 pushes belong to no call, first 0199…`, or
/// `intended 5 ≠ sent 3 + queued 1`.
struct BrokenRule {
    /// Without the count and the first case, which differ between audits.
    let name: String
    /// The number of cases, or the error of a sum; 1 if unknown.
    let count: Int

    init(_ text: String) {
        if text.contains("≠") {
            name = text.prefix { !$0.isNumber }.description
            let numbers = text.split { !$0.isASCII || !$0.isNumber }.compactMap { Int($0) }
            count = abs(numbers.dropFirst().reduce(numbers.first ?? 0, -))
            return
        }
        // A cell of the ledger may be negative.
        let number = text.prefix { $0.isNumber || $0 == "-" }
        count = Int(number).map(abs) ?? 1
        let rest = text.dropFirst(number.count)
        name = String(rest.firstRange(of: ", first ").map { rest[..<$0.lowerBound] } ?? rest)
    }
}
