import ClientTokens

/// The lines about user tokens.
enum TokenMetrics {
    static func add(_ tokens: TokenCounters, keys: Int, to report: inout PrometheusText) {
        report.metric(
            "reveille_tokens_refused_total", .counter, "Tokens of clients refused, by cause.",
            TokenRefusal.Cause.allCases.map { ("cause=\"\($0.rawValue)\"", Double(tokens.refusals($0))) })
        report.metric(
            "reveille_token_key_fetches_total", .counter, "Fetches of the identity provider's keys, by result.",
            [
                ("result=\"ok\"", Double(tokens.succeededFetches)),
                ("result=\"failed\"", Double(tokens.unsuccessfulFetches)),
            ])
        report.metric(
            "reveille_token_keys", .gauge, "Keys of the identity provider that tokens are verified with.", keys)
    }
}
