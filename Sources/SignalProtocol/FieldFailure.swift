import CallVocabulary

/// An invalid member of a message.
struct FieldFailure: Error {
    enum Problem {
        case missing
        case mistyped
        /// The type is right, the size is not.
        case tooLarge(limit: Int, unit: String)
    }

    /// The path from the object that was read: `device.id`.
    var path: String
    var problem: Problem
    /// The expected value, to follow "expected".
    var expected: String

    func inside(_ parent: String) -> Self {
        var copy = self
        // `push` and `[2].token` become `push[2].token`.
        copy.path = path.hasPrefix("[") ? parent + path : "\(parent).\(path)"
        return copy
    }

    /// The error to reply with; `root` is the member at which the path starts.
    func error(in root: String) -> SignalError {
        let path = inside(root).path
        switch problem {
        case .missing: return SignalError(.invalidParams, "\(path): missing; expected \(expected)")
        case .mistyped: return SignalError(.invalidParams, "\(path): expected \(expected)")
        case .tooLarge(let limit, let unit):
            return SignalError(.tooLarge(limit: limit), "\(path): too large; at most \(limit) \(unit) are taken")
        }
    }
}
