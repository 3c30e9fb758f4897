import CallServer

struct HTTPAnswer: Equatable, Sendable {
    struct Unreadable: Error {
        let text: String
    }

    /// `HTTP/1.1` or `HTTP/2`.
    let version: Substring
    let status: Int
    /// By lower-case name.
    let headers: [String: String]
    let body: String

    /// - Parameter text: as `curl --include` prints it.
    init(_ text: String) throws {
        // A carriage return and a line feed form one Character.
        let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        let head = lines.prefix { !$0.isEmpty }
        let words = (head.first ?? "").split(separator: " ")
        guard words.count > 1, words[0].hasPrefix("HTTP/"), let status = Int(words[1]) else {
            throw Unreadable(text: text)
        }
        version = words[0]
        self.status = status
        headers = Dictionary(
            head.dropFirst().compactMap { line in
                line.firstIndex(of: ":").map {
                    (line[..<$0].lowercased(), String(line[line.index(after: $0)...].drop { $0 == " " }))
                }
            }, uniquingKeysWith: { $0 + ", " + $1 })
        body = lines.dropFirst(head.count + 1).joined(separator: "\n")
    }

    var object: JSONObject {
        get throws { try JSONObject(body) }
    }

    /// `data.code` of the error object in the body.
    var errorCode: String? {
        get throws { (try object["data"] as? [String: Any])?["code"] as? String }
    }

    /// The address of `server` for a path: operators' paths are on its metrics listener.
    static func place(_ server: CallServer, _ path: String) -> String {
        let isOfOperators = path == "/metrics" || path == "/readyz"
        return "\(isOfOperators ? server.metricsAddress ?? server.address : server.address)"
    }

    static func curl(_ arguments: String...) async throws -> HTTPAnswer { try await curl(arguments) }

    static func curl(_ arguments: [String]) async throws -> HTTPAnswer {
        let result = try await Program.run(
            "/usr/bin/curl", ["--silent", "--show-error", "--max-time", "40", "--include"] + arguments)
        guard result.ending == .exit(0) else { throw Unreadable(text: result.errors) }
        return try HTTPAnswer(result.output)
    }

    /// Requests a path of `server` with curl, at its ``place(_:_:)``.
    static func curl(
        _ server: CallServer, _ path: String, token: String? = nil, _ options: String...
    ) async throws -> HTTPAnswer {
        let authorization = token.map { ["--header", "Authorization: Bearer \($0)"] } ?? []
        return try await curl(
            ["--header", "Expect:"] + authorization + options + ["http://\(place(server, path))\(path)"])
    }

    /// The value of one series of the metrics at `url`.
    static func metric(_ series: String, at url: String) async throws -> Double? {
        try await curl(url).body.split(separator: "\n").first { $0.hasPrefix(series + " ") }
            .flatMap { Double($0.dropFirst(series.count + 1)) }
    }

    /// Sends `body` as JSON to the report resource of `push`.
    static func report(
        _ server: CallServer, push: some CustomStringConvertible, token: String?, body: String
    ) async throws -> HTTPAnswer {
        try await curl(
            server, "/v1/pushes/\(push)/report", token: token, "--header", "Content-Type: application/json", "--data",
            body)
    }
}
