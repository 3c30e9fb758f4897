import CallVocabulary
import Configuration

/// TURN servers for media.
extension Setting {
    package static let turnURLs = Setting(
        "turn.urls", .text(longest: FrameLimits.iceURLs),
        example: "turn:turn.example.com, turns:turn.example.com?transport=tcp", part: .turn,
        "TURN and STUN servers that clients are told of, with commas between. Needs turn.secret_file.")
    package static let turnSecretFile = Setting(
        "turn.secret_file", .path, example: "/etc/reveille/turn-secret", part: .turn,
        "The secret shared with the TURN servers, as in static-auth-secret of coturn. Of several lines the first one signs."
    )
    package static let turnSeconds = Setting(
        "turn.ttl_seconds", .integer(60...604_800), .int(3600), part: .turn,
        "How long a TURN credential is valid.")
}
