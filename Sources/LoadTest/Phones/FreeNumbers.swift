/// Numbers that are free, in no order: of phones, callees or calls.
struct FreeNumbers {
    private var numbers: [Int] = []

    var count: Int { numbers.count }

    mutating func add(_ number: Int) { numbers.append(number) }
    mutating func add(_ range: Range<Int>) { numbers += range }

    /// Takes one at random.
    /// - Parameter isReady: whether a number may be taken.
    /// - Returns: nil if none is free and ready.
    mutating func take(
        _ generator: inout some RandomNumberGenerator, where isReady: (Int) -> Bool = { _ in true }
    ) -> Int? {
        guard !numbers.isEmpty else { return nil }
        let start = Int.random(in: numbers.indices, using: &generator)
        let places = (0..<numbers.count).lazy.map { [numbers] in ($0 + start) % numbers.count }
        guard let place = places.first(where: { [numbers] in isReady(numbers[$0]) }) else { return nil }
        numbers.swapAt(place, numbers.count - 1)
        return numbers.removeLast()
    }
}
