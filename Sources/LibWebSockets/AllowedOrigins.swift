/// The web pages that may use a listener, by their origin (RFC 6454): scheme, host and port.
///
/// Browsers send `Origin` with every WebSocket handshake and every request to another host. Requests without it are not
/// a page's and are always served.
public enum AllowedOrigins: Equatable, Sendable {
    case any
    case only(Set<String>)

    /// Browsers cache the answer to a preflight this long, in seconds; two hours is the most that Chromium accepts.
    private static let preflightAge = "7200"

    /// The origins in a list separated by commas, or the word `any`.
    /// - Returns: nil for an entry that is not `scheme://host` or `scheme://host:port`.
    public init?(_ text: String) {
        let entries = text.split(separator: ",").map { $0.filter { $0 != " " }.lowercased() }
        guard entries != ["any"] else {
            self = .any
            return
        }
        let areOrigins = entries.allSatisfy { entry in
            guard let scheme = entry.firstRange(of: "://"), scheme.lowerBound > entry.startIndex else { return false }
            let host = entry[scheme.upperBound...]
            return !host.isEmpty && !host.contains { "/?#@*".contains($0) }
        }
        guard areOrigins, !entries.isEmpty else { return nil }
        self = .only(Set(entries))
    }

    func allows(_ origin: String) -> Bool {
        switch self {
        case .any: true
        case .only(let origins): origins.contains(origin.lowercased())
        }
    }

    /// Whether a page of the origin may send a request to this server by the name `host`. The server's own pages may.
    func allows(_ origin: String, at host: String?) -> Bool { allows(origin) || Self.isOrigin(origin, of: host) }

    /// Whether the origin has this host and port. The scheme may differ: behind a TLS proxy the server does not know it.
    static func isOrigin(_ origin: String, of host: String?) -> Bool {
        guard let host, let scheme = origin.firstRange(of: "://") else { return false }
        return origin[scheme.upperBound...].lowercased() == host.lowercased()
    }

    /// The response to a page that may not use the listener.
    static func refusal(of origin: String) -> HTTPResponse {
        let shown = String(origin.prefix(256).filter { $0.isASCII && !$0.isWhitespace })
        return .text(
            "pages of \(shown) may not use this server: only its own pages, and those in listen.origins\n", status: 403)
    }

    /// The headers with which a browser lets the page read a response (Fetch, "CORS protocol").
    static func headers(for origin: String) -> [(name: String, value: String)] {
        [
            ("Access-Control-Allow-Origin", origin), ("Vary", "Origin"),
            ("Access-Control-Expose-Headers", "Retry-After, WWW-Authenticate"),
        ]
    }

    /// The response to a preflight, which asks what a page may send.
    static var preflight: HTTPResponse {
        HTTPResponse(
            status: 204, contentType: "",
            headers: [
                ("Access-Control-Allow-Methods", "GET, HEAD, POST"),
                ("Access-Control-Allow-Headers", "Authorization, Content-Type"),
                ("Access-Control-Max-Age", preflightAge),
            ])
    }
}
