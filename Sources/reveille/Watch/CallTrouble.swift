import AdminProtocol
import CallVocabulary

/// What is probably wrong with a live call: it stays longer in a state than calls that go well.
enum CallTrouble {
    /// No device that was pushed has shown a sign of life for so long.
    private static let longestWaking = Duration.seconds(8)
    /// Answered, and no media flows after so long.
    private static let longestAnswered = Duration.seconds(5)

    /// - Returns: for how long, and in what words; nil for a call that goes well as far as can be seen.
    static func of(_ call: CallView, wallMilliseconds: Int64) -> (since: Duration, words: String)? {
        func since(_ time: Timestamp?) -> Duration? {
            time.map { .milliseconds(wallMilliseconds - $0.instant.milliseconds) }
        }
        let (time, longest, words): (Duration?, Duration, String)
        switch call.state {
        case .waking: (time, longest, words) = (since(call.createdAt), longestWaking, "wakes long")
        case .answered: (time, longest, words) = (since(call.answeredAt), longestAnswered, "no media")
        case .routing, .ringing, .connected, .ended: return nil
        }
        guard let time, time >= longest else { return nil }
        return (time, words)
    }
}
