import AdminProtocol
import CallVocabulary

/// Calls in the words of the screen.
enum CallWords {
    static func target(_ target: TargetView) -> String {
        switch target.target {
        case .user(let user): user.text
        case .users(let users): users.map(\.text).joined(separator: ", ")
        case .group(let name): "group \(name)"
        }
    }

    /// The duration of the call, up to now or its end.
    static func age(_ call: CallView, wallMilliseconds: Int64) -> Duration {
        let end = call.endedAt?.instant.milliseconds ?? wallMilliseconds
        // The server's clock may be ahead of this machine's.
        return .milliseconds(max(0, end - call.createdAt.instant.milliseconds))
    }

    /// `0:07`, `12:34`, `1:02:03`, `3d 04h`.
    static func clock(_ duration: Duration) -> String {
        let seconds = duration.components.seconds
        func two(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }
        if seconds >= 86_400 { return "\(seconds / 86_400)d \(two(seconds / 3600 % 24))h" }
        if seconds >= 3600 { return "\(seconds / 3600):\(two(seconds / 60 % 60)):\(two(seconds % 60))" }
        return "\(seconds / 60):\(two(seconds % 60))"
    }

    static func name(_ call: CallView) -> String { "\(call.from.text) to \(target(call.to))" }
}
