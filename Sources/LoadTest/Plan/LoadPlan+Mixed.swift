extension LoadPlan {
    /// Of ten operations one is disturbed, where faults are asked for.
    private static let disturbedShare = 10

    /// One kind of work of ``Scenario/mixed``.
    struct Part {
        let name: String
        /// nil for calls that are disturbed on purpose.
        let scenario: Scenario?
        let weight: Int
        /// How many operations of it may be under way at once, over all threads.
        let places: Int
    }

    /// What ``Scenario/mixed`` is made of.
    var mixedParts: [Part] {
        let chosen = Scenario.allCases.compactMap { scenario in
            weights[scenario].flatMap { $0 > 0 ? (scenario.rawValue, scenario as Scenario?, $0) : nil }
        }
        var sum = chosen.reduce(0) { $0 + $1.2 }
        let disturbed = faults && sum > 0 ? [("disturbed", nil as Scenario?, max(1, sum / Self.disturbedShare))] : []
        sum += disturbed.reduce(0) { $0 + $1.2 }
        return (chosen + disturbed).map { name, scenario, weight in
            // Each thread has one at least.
            Part(
                name: name, scenario: scenario, weight: weight,
                places: max(threads, partPlaces(scenario, weight, of: sum)))
        }
    }

    /// A part's share of the places that were asked for. By default as many as its own operations need: those of a small
    /// part come in bursts too, and a woken fan-out takes longer than others.
    private func partPlaces(_ scenario: Scenario?, _ weight: Int, of sum: Int) -> Int {
        guard case .open(let rate) = pace, givenPlaces == nil else { return (places * weight + sum - 1) / sum }
        let spare = scenario == .fanout ? 4 : max(16, 64 * weight / sum)
        return spare + due(scenario, rate * Double(weight) / Double(sum))
    }
}
