import Configuration

/// The backend that authorizes calls and sessions.
extension Setting {
    package static let authorizeURL = Setting(
        "authorize.url", .text(longest: 1024), example: "https://backend.example.com/authorize", part: .authorization,
        isSecret: true,
        "Asked with a POST before each invite is accepted. Needs authorize.secret_file.")
    package static let authorizeSecretFile = Setting(
        "authorize.secret_file", .path, example: "/etc/reveille/authorize-secret", part: .authorization,
        "Secrets that sign the requests (Standard Webhooks): whsec_ and Base64, one a line. All sign.")
    package static let authorizeTimeout = Setting(
        "authorize.timeout_ms", .integer(50...5000), .int(800), part: .authorization,
        "How long an invite or a session waits for the answer.")
    package static let authorizeSessions = Setting(
        "authorize.sessions", .flag, .bool(false), part: .authorization,
        "Whether a new session also needs the hook's permission. A resume and the wake token of a push need none.")
    package static let authorizeOnFailure = Setting(
        "authorize.on_failure", .choice(["allow", "deny"]), .string("deny"), part: .authorization,
        "The decision when the hook gives no answer: after a timeout or error, or while the circuit breaker is open."
    )
}
