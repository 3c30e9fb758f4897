import AdminProtocol
import CallCore
import CallVocabulary
import LibWebSockets
import SignalProtocol
import WireJSON

/// A backend's request, read from HTTP: its token, its resource and its parameters.
struct BackendHTTPRequest {
    /// The operation, and the part of the server that performs it.
    enum Work {
        /// - Parameter wait: how long a follow waits.
        case core(BackendRequest, wait: Duration?)
        case admin(AdminMethod, params: [UInt8])
        case export(BackendExport)
    }

    /// The longest `wait` of a follow, in seconds: shorter than the listener's timeout for a response.
    static let longestWait = 25
    /// The most members of a body for the administration.
    private static let mostMembers = 32
    static let longestKey = 255
    /// Digits of a version, which is 64 bits in hexadecimal.
    static let longestVersion = 16

    let token: BackendToken
    let route: BackendRoute
    private let parameters: [String: String]

    /// Reads the head: token, path, role and scope.
    init(_ request: HTTPRequest, _ tokens: BackendTokens) throws(BackendRefusal) {
        guard let text = request.bearerToken else { throw .noToken }
        guard let token = tokens.find(text) else { throw .unknownToken }
        // A segment may have an escaped `/`, so the segments are taken from the target.
        let target = Array(request.target.utf8.prefix { $0 != UInt8(ascii: "?") })
        let parts = target.dropFirst(BackendRoute.root.utf8.count + 1).split(
            separator: UInt8(ascii: "/"), maxSplits: BackendRoute.mostSegments, omittingEmptySubsequences: false
        ).map { RequestHead.unescaped($0) ?? "" }
        switch BackendRoute.match(request.method, parts) {
        case .nothing: throw .nothing
        case .methods(let methods): throw .methods(methods)
        case .route(let route, let parameters):
            (self.token, self.route, self.parameters) = (token, route, parameters)
        }
        guard token.role >= route.role else { throw .role(route.role, token) }
        guard token.scope.users != nil else { return }
        switch route.handler {
        case .call: break
        // See ``refusal(of:)``.
        case .admin where route == .callRecord: break
        case .admin, .export:
            guard let user = parameters["user"] else { throw .allUsers(token) }
            guard let handle = Handle(known: user), token.scope.includes(handle) else { throw .user(user, token) }
        }
    }

    /// The refusal of a record that the token may not read: only its users' calls, if it acts for some users.
    func refusal(of record: [UInt8]) -> BackendRefusal? {
        guard route == .callRecord, token.scope.users != nil else { return nil }
        let caller = record.withUnsafeBytes { bytes in
            (try? JSONScanner.document(bytes))?.member("call")?.member("from")?.string.flatMap { Handle(known: $0) }
        }
        guard let caller, token.scope.includes(caller) else { return .caller(token) }
        return nil
    }

    /// Whether the call's id comes from the request's `Idempotency-Key`.
    func isKeyed(_ request: HTTPRequest) -> Bool { route == .callStart && request.idempotencyKey != nil }

    /// Reads the rest of the request.
    /// - Parameter callSecret: see ``BackendServices/callSecret``.
    func work(_ request: HTTPRequest, callSecret: [UInt8]) throws(SignalError) -> Work {
        if let key = request.idempotencyKey?.utf8 {
            guard (1...Self.longestKey).contains(key.count), key.allSatisfy({ (0x21...0x7E).contains($0) }) else {
                throw SignalError(
                    .invalidRequest,
                    "Idempotency-Key: expected 1 to \(Self.longestKey) ASCII characters without spaces")
            }
        }
        if !request.body.isEmpty { try request.expectJSON() }
        let query = try request.queryItems
        if let unknown = query.keys.first(where: { !route.query.contains($0) }) { throw noParameter(unknown) }
        switch route.handler {
        case .call: return try call(request, query, callSecret)
        case .export(let kind): return .export(try BackendExport(kind, query, accept: request.accept))
        case .admin(let method): return .admin(method, params: try params(request, query))
        }
    }

    /// A parameter that is not known may be one that is mistyped, such as a time that limits an export.
    private func noParameter(_ name: String) -> SignalError {
        let known = route.query.isEmpty ? "none" : route.query.joined(separator: ", ")
        return SignalError(
            .invalidParams, "\(name.prefix(64)): the query has no such parameter here; there are: \(known)")
    }

    private func call(
        _ request: HTTPRequest, _ query: [String: String], _ secret: [UInt8]
    ) throws(SignalError) -> Work {
        if route == .callStart {
            var random = SystemRandomNumberGenerator()
            let id = request.idempotencyKey.map { token.call(of: $0, secret: secret) } ?? CallID(random: &random)
            return .core(.invite(try SignalDecoder.decode(backendInvite: request.body, or: id)), wait: nil)
        }
        guard let id = parameters["call_id"].flatMap({ CallID($0) }) else {
            throw SignalError(.invalidParams, "call_id: expected a UUID")
        }
        switch route {
        case .callConnected: return .core(.connected(id), wait: nil)
        case .callHangup:
            let body = request.body.isEmpty ? Array("{}".utf8) : request.body
            guard case .hangup(_, let reason) = try SignalDecoder.decode(body: body, of: .hangup, in: id) else {
                preconditionFailure("a hang-up is decoded as one")
            }
            return .core(.hangup(id, reason), wait: nil)
        default:
            let seconds = query["wait"] ?? "\(Self.longestWait)"
            guard let wait = Int(digits: seconds, in: 0...Self.longestWait) else {
                throw SignalError(.invalidParams, "wait: expected 0 to \(Self.longestWait) seconds")
            }
            guard let after = query["after"] else { return .core(.get(id), wait: nil) }
            guard after.utf8.count <= Self.longestVersion,
                let version = UInt64(digits: after, radix: 16, in: 0...UInt64.max)
            else {
                throw SignalError(.invalidParams, "after: expected the version of an earlier answer")
            }
            return .core(.follow(id, after: version), wait: .seconds(wait))
        }
    }

    /// The members of the body, as they stand there; those of the query and of the path take precedence.
    private func params(_ request: HTTPRequest, _ query: [String: String]) throws(SignalError) -> [UInt8] {
        var members = try Self.members(of: request.body)
        for (name, text) in query { members[name] = Self.value(text, of: name) }
        for (name, text) in parameters { members[name] = Self.json(text) }
        return JSONWriter.bytes { json in
            json.object { json in
                for (name, value) in members {
                    json.key(name)
                    json.raw(value)
                }
            }
        }
    }

    /// The members of a JSON object; the last of repeated ones counts. Foundation would make an object of each value, and
    /// this is the shard's thread.
    private static func members(of body: [UInt8]) throws(SignalError) -> [String: RawJSON] {
        guard !body.isEmpty else { return [:] }
        guard ForeignText.areComparable(inJSON: body) else {
            throw SignalError(
                .invalidRequest,
                "a text of the body has more than \(ForeignText.longest) bytes and is not all ASCII, or the body is not "
                    + "UTF-8")
        }
        let read = body.withUnsafeBytes { bytes in Result { () throws(JSONSyntaxError) in try Self.read(bytes) } }
        switch read {
        case .success(.members(let members)): return members
        case .success(.tooMany):
            throw SignalError(
                .invalidRequest, "the body has more than \(mostMembers) members, which no resource knows")
        case .success(.notAnObject): throw SignalError(.invalidRequest, "expected a JSON object")
        case .failure(let error): throw SignalError(.parseError, "not valid JSON: \(error)")
        }
    }

    private enum Body {
        case members([String: RawJSON])
        case tooMany
        case notAnObject
    }

    private static func read(_ bytes: UnsafeRawBufferPointer) throws(JSONSyntaxError) -> Body {
        guard try JSONScanner.document(bytes).kind == .object else { return .notAnObject }
        var members: [String: RawJSON] = [:]
        var (scanner, count) = (JSONScanner(bytes), 0)
        try scanner.enterObject()
        while let key = try scanner.nextKey() {
            count += 1
            guard count <= mostMembers else { return .tooMany }
            let value = try scanner.value()
            // ``ForeignText`` has looked at the name.
            if let name = key.string { members[name] = value.raw }
        }
        return .members(members)
    }

    /// A query parameter as JSON. Invalid numbers and flags stay text, which the admin API refuses.
    private static func value(_ text: String, of name: String) -> RawJSON {
        switch name {
        case "limit": Int(digits: text, in: 0...Int.max).map { RawJSON(bytes: Array("\($0)".utf8)) } ?? json(text)
        case "suspended": Bool(text).map { RawJSON(bytes: Array("\($0)".utf8)) } ?? json(text)
        default: json(text)
        }
    }

    private static func json(_ text: String) -> RawJSON { RawJSON(bytes: JSONWriter.bytes { $0.string(text) }) }
}

/// Why a backend's request is refused before its body is read.
enum BackendRefusal: Error {
    case noToken
    case unknownToken
    case nothing
    case methods([HTTPRequest.Method])
    case role(BackendToken.Role, BackendToken)
    case user(String, BackendToken)
    /// The caller of the call is none of the token's users.
    case caller(BackendToken)
    case allUsers(BackendToken)

    var response: HTTPResponse {
        switch self {
        case .noToken:
            .refusal(
                SignalError(.unauthenticated, "Send a backend's token: Authorization: Bearer TOKEN."),
                headers: [("WWW-Authenticate", "Bearer")])
        case .unknownToken:
            .refusal(
                SignalError(
                    .unauthenticated,
                    "The server does not know the token; make one with reveille token backend, and do what it says. "
                        + "A new line in the file of tokens counts after a reload (SIGHUP)."))
        case .nothing: .refusal(SignalError(.notFound, "There is no such resource below \(BackendRoute.root)."))
        case .methods(let methods):
            .refusal(
                SignalError(
                    .methodNotFound, "This resource knows \(methods.map(\.rawValue).joined(separator: ", ")) only."),
                headers: [("Allow", methods.map(\.rawValue).joined(separator: ", "))])
        case .role(let role, let token):
            .refusal(
                SignalError(
                    .forbidden,
                    "This takes the role \(role.rawValue); the token \(token.name) has \(token.role.rawValue)."),
                headers: [("WWW-Authenticate", "Bearer error=\"insufficient_scope\", scope=\"\(role.rawValue)\"")])
        case .user(let user, let token):
            .refusal(SignalError(.forbidden, "The token \(token.name) does not act for \(user)."))
        case .caller(let token):
            .refusal(SignalError(.forbidden, "The token \(token.name) does not act for the caller of this call."))
        case .allUsers(let token):
            .refusal(
                SignalError(
                    .forbidden,
                    "The token \(token.name) acts for some users only; this resource is about all of them."))
        }
    }
}
