import Determinism

/// What becomes of a call, drawn before it begins.
enum CallOutcome: CaseIterable {
    /// Answered, connected, and hung up by the caller after it was held.
    case answered
    /// Declined by the callee.
    case declined
    /// Hung up by the caller while it rings.
    case cancelled

    /// - Parameter answerRatio: the part that is answered; the others are declined and cancelled in halves.
    static func random(answerRatio: Double, using generator: inout SeededGenerator) -> CallOutcome {
        let drawn = Double.random(in: 0..<1, using: &generator)
        if drawn < answerRatio { return .answered }
        return drawn < answerRatio + (1 - answerRatio) / 2 ? .declined : .cancelled
    }
}
