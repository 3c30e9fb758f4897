import Determinism

/// The probability of each fault of a realm, in thousandths, and the number of its machines.
struct RealmOdds {
    var nodes = 2
    /// The largest difference of a machine's clock from the database's, in milliseconds.
    var clockOffset = 0
    var pause = 0
    var cut = 0
    var away = 0
    var brokenCommit = 0
    var lateStatement = 0
    /// That a take-over is lost with the primary database: its standby, which is promoted, does not have it.
    var lostTakeOver = 0

    init() {}

    /// - Returns: nil for the most part: then one process runs on one disk.
    init?(_ random: inout SeededGenerator, isCalm: Bool, isCertain: Bool) {
        guard Int.random(in: 0..<3, using: &random) == 0 || isCertain else { return nil }
        /// 0 in all calm runs and a third of the others, else up to `most`.
        func draw(_ most: Int) -> Int {
            let isOff = Int.random(in: 0..<3, using: &random) == 0
            let value = Int.random(in: 1...most, using: &random)
            return isOff || isCalm ? 0 : value
        }
        nodes = Int.random(in: 2...3, using: &random)
        pause = draw(150)
        cut = draw(120)
        away = draw(60)
        brokenCommit = draw(100)
        lateStatement = draw(800)
        clockOffset = draw(20_000)
        lostTakeOver = draw(300)
    }

    /// Stops all faults.
    mutating func heal() {
        (pause, cut, away, brokenCommit, lateStatement, lostTakeOver) = (0, 0, 0, 0, 0, 0)
    }
}
