extension CloseCode {
    /// What the close frame says to a person who reads it.
    package var explanation: String {
        switch self {
        case .normal: "closed"
        case .brokenFrame: "a frame that breaks RFC 6455"
        case .binaryFrame: "send JSON in text frames"
        case .invalidUTF8: "text frames hold UTF-8"
        case .shutdown: "the server stops; reconnect"
        case .slowConsumer: "too slow in reading; reconnect and resume"
        case .pingTimeout: "no answer to a ping"
        case .overloaded: "the server is overloaded; reconnect with backoff"
        case .dropped: "an administrator ended the session; reconnect"
        case .badToken: "bad token; get a new one"
        case .protocolError: "protocol error"
        case .frameTooLarge: "frame too large"
        case .replaced: "replaced by a newer session of this device"
        case .notOpened: "no session.open in time"
        case .abuse: "too many messages"
        case .loggedOut: "logged out"
        }
    }
}
