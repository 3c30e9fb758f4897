import AdminProtocol
import CallCore
import CallVocabulary

/// The space left for calls in one frame: half of the longest frame, by an upper bound of each call's size.
public struct FrameRoom {
    static let mostCalls = 500
    /// The bytes of the parts with a fixed length: member names, ids, times.
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
    /// An upper bound of the bytes of the call's names. A character of a display name takes at most six bytes, as
    /// `\u0000`; a character of a handle takes at most two.
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
