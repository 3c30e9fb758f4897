import ArgumentParser
import LoadTest

/// The shares of a mixed load, as people give them: `online=70,wake=20`.
struct LoadWeights {
    private static let most = 1_000

    let shares: [LoadPlan.Scenario: Int]

    static func parse(_ text: String) throws -> LoadWeights {
        var shares: [LoadPlan.Scenario: Int] = [:]
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let sides = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard sides.count == 2, let scenario = LoadPlan.Scenario(rawValue: String(sides[0])), scenario.canBeMixed
            else {
                let names = LoadPlan.Scenario.allCases.filter(\.canBeMixed).map(\.rawValue)
                throw ValidationError(
                    "'\(String(part).shown)' is no share: give them as online=70,wake=20, of "
                        + names.joined(separator: ", ") + ".")
            }
            guard let share = Int(sides[1]), (0...most).contains(share) else {
                throw ValidationError(
                    "the share of \(scenario.rawValue) is 0 to \(most), not '\(String(sides[1]).shown)'.")
            }
            guard shares.updateValue(share, forKey: scenario) == nil else {
                throw ValidationError("\(scenario.rawValue) has two shares: give it one.")
            }
        }
        guard shares.values.contains(where: { $0 > 0 }) else { throw ValidationError("all shares are 0.") }
        return LoadWeights(shares: shares)
    }
}
