import AdminProtocol
import CallVocabulary

/// Live calls in trouble: they stay in a state longer than usual.
enum CallTrouble {
    /// The time without a response of any pushed device.
    private static let longestWaking = Duration.seconds(8)
    /// The time between answer and media.
    private static let longestAnswered = Duration.seconds(5)

    /// - Returns: the time in the state and its description; nil for a call without trouble.
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
