import CallVocabulary

/// Why a frame was not understood.
public struct DecodingFailure: Error, Equatable, Sendable {
    /// The request that the error answers; nil when there is none, or it could not be read. It is still to be
    /// answered then, with an `id` of `null`: bad input is never ignored.
    public var id: RequestID?
    /// Its message names the member at fault and says what was expected.
    public var error: SignalError

    public init(id: RequestID? = nil, _ error: SignalError) {
        self.id = id
        self.error = error
    }

    /// What to send back.
    public var answer: ServerMessage { .error(id, error) }
}
