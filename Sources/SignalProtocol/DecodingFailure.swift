import CallVocabulary

/// Why a frame could not be decoded.
public struct DecodingFailure: Error, Equatable, Sendable {
    /// The request that the error answers; nil when it has no id, or an unreadable one. The error is then sent with an
    /// `id` of `null`: invalid input is never ignored.
    public var id: RequestID?
    /// Its message names the invalid member and says what was expected.
    public var error: SignalError

    public init(id: RequestID? = nil, _ error: SignalError) {
        self.id = id
        self.error = error
    }

    /// The error message to send back.
    public var answer: ServerMessage { .error(id, error) }
}
