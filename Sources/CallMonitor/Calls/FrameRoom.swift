import AdminProtocol
import CallCore
import CallVocabulary

/// What calls still fit a frame: half of the longest, counted generously.
public struct FrameRoom {
    /// Calls in one frame at most, however short they are.
    static let mostCalls = 500
    /// All that has the same length in each call: names of members, ids, times.
    private static let fixedBytes = 1100

    private var bytes = AdminEndpoint.longestFrame / 2
    private var calls = 0

    public init() {}

    /// - Returns: false when the call does not fit. The first always does.
    public mutating func take(_ call: CallRecord) -> Bool {
        let size = Self.fixedBytes + call.textBytes
        guard calls == 0 || calls < Self.mostCalls && size <= bytes else { return false }
        calls += 1
        bytes -= size
        return true
    }
}

extension CallRecord {
    /// At most as long is what people are called in it. A character of a name takes six bytes at most, as `\u0000`; what a
    /// handle may hold takes two.
    fileprivate var textBytes: Int {
        let parties = [caller.user, answeredBy?.user, endedBy?.user].reduce(0) { $0 + ($1?.text.utf8.count ?? 0) }
        let target =
            switch to {
            case .user(let user): user.text.utf8.count
            case .users(let users): users.reduce(0) { $0 + $1.text.utf8.count + 2 }
            case .group(let name): name.utf8.count
            }
        return 6 * (callerName?.utf8.count ?? 0) + 2 * (parties + target)
    }
}
