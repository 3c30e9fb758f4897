import CallVocabulary

/// Advice about sessions that cannot be opened, by their reason.
struct OpeningAdvice {
    let target: LoadTarget

    /// `reason` with advice.
    func with(_ reason: String) -> String {
        guard case .running(let server) = target else { return reason }
        if reason.contains("certificate is not trusted") {
            return "\(reason.clause); name its authority's certificate with --ca-file"
        }
        if Self.foreignToken.contains(where: { reason.contains($0) }) {
            return "\(reason.clause); look whether \(server.secretFile) is that server's client-token.key, and name it "
                + "with --secret-file"
        }
        // A server that speaks TLS drops plain connections.
        let isUnanswered = Self.unanswered.contains { reason.contains($0) }
        guard isUnanswered, server.url.hasPrefix("ws://") else { return reason }
        return "\(reason.clause); look whether the server runs and at its port, and say wss:// where it speaks TLS"
    }

    /// In the words of `GoneReason`: the tokens are signed with another secret than the server's.
    private static let foreignToken = ["refused (unauthenticated)", "(badToken)"]

    /// In the words of `WebSocketFailure`, and of a connection that is closed first.
    private static let unanswered = [
        "no WebSocket server answers there", "does not take this connection",
        "closed the connection before it was open",
    ]
}
