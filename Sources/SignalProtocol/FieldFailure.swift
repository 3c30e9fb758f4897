import CallVocabulary

/// What is wrong with a member of a message.
struct FieldFailure: Error {
    enum Problem {
        case missing
        case mistyped
        /// It is what it should be, but for its size.
        case tooLarge(limit: Int, unit: String)
    }

    /// From the object it was read from: `device.id`.
    var path: String
    var problem: Problem
    /// What a person is to put there, to follow "expected".
    var expected: String

    func inside(_ parent: String) -> Self {
        var copy = self
        // `push` and `[2].token` become `push[2].token`.
        copy.path = path.hasPrefix("[") ? parent + path : "\(parent).\(path)"
        return copy
    }

    /// The error to answer with; `root` is the member that the path starts from.
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
