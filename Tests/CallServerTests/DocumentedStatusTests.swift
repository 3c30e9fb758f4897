import CallVocabulary
import Foundation
import LibWebSockets
import Testing

@testable import CallServer

/// The statuses of both OpenAPI documents are those that the server answers with, in the form that they say.
@Suite("Statuses of HTTP")
struct DocumentedStatusTests {
    /// A response of a document, or of an operation in it.
    private struct Documented {
        let status: Int
        let types: Set<String>
        let headers: Set<String>
    }

    private struct Operation {
        let name: String
        let takesBody: Bool
        let statuses: Set<Int>
    }

    static let documents = ["reveille.openapi.json", "reveille.backend.openapi.json"]

    private static func document(_ name: String) throws -> (responses: [Documented], operations: [Operation]) {
        let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Resources/\(name)")
        let root = try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any]
        let components = root?["components"] as? [String: Any]
        let responses = try #require(components?["responses"] as? [String: [String: Any]])
        let paths = try #require(root?["paths"] as? [String: [String: Any]])
        return (
            try responses.map { status, response in
                Documented(
                    status: try #require(Int(status)),
                    types: Set((response["content"] as? [String: Any] ?? [:]).keys),
                    headers: Set((response["headers"] as? [String: Any] ?? [:]).keys))
            },
            paths.values.flatMap { $0.values.compactMap { $0 as? [String: Any] } }.map { operation in
                Operation(
                    name: operation["operationId"] as? String ?? "", takesBody: operation["requestBody"] != nil,
                    statuses: Set((operation["responses"] as? [String: Any] ?? [:]).keys.compactMap { Int($0) }))
            }
        )
    }

    /// The listener's own refusals, by status: the code in the error object.
    private static let refusals = [
        400: "invalid_request", 403: "forbidden", 404: "not_found", 405: "method_not_found", 411: "invalid_request",
        413: "too_large", 426: "invalid_request", 429: "rate_limited", 431: "too_large", 503: "overloaded",
        505: "invalid_request",
    ]

    /// One of each kind.
    private static let errors: [SignalError.Code] = [
        .parseError, .invalidRequest, .methodNotFound, .invalidParams, .internalError, .unauthenticated, .forbidden,
        .notFound, .callEnded(.hangup), .badState(nil), .rateLimited(retryAfter: .seconds(2)), .tooLarge(limit: 1),
        .conflict, .limitReached(limit: 1), .overloaded(retryAfter: .seconds(1)), .draining,
    ]

    private static func refusal(_ status: Int) -> HTTPResponse {
        var refusal = HTTPResponse.text("why\n", status: status)
        refusal.headers = status == 429 || status == 503 ? [("Retry-After", "7")] : [("Allow", "GET")]
        return .errorObject(for: refusal)
    }

    /// Everything that the server answers with beside results.
    private static var made: [HTTPResponse] {
        errors.map { .refusal(SignalError($0, "why")) } + refusals.keys.sorted().map(refusal)
    }

    private func object(_ response: HTTPResponse) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any])
    }

    @Test("each error is the error object, and a refusal by the listener keeps its status, words and headers")
    func errorObjects() throws {
        for response in Self.made {
            let error = try object(response)
            #expect(response.contentType == "application/json" && error["code"] as? Int != nil)
            #expect(error["message"] as? String == "why")
            #expect((error["data"] as? [String: Any])?["code"] is String)
        }
        for (status, code) in Self.refusals {
            let response = Self.refusal(status)
            #expect(response.status == status)
            #expect((try object(response)["data"] as? [String: Any])?["code"] as? String == code)
            let kept = status == 429 || status == 503 ? ("Retry-After", "7") : ("Allow", "GET")
            #expect(response.headers.count { $0 == kept } == 1)
        }
        let json = HTTPResponse.json(Array("{}".utf8), status: 401)
        #expect(HTTPResponse.errorObject(for: json).body == json.body)
    }

    @Test("a 401 has its challenge, whatever refuses the token")
    func challenges() {
        let refusal = HTTPResponse.refusal(SignalError(.unauthenticated, ""))
        #expect(refusal.headers.contains { $0 == ("WWW-Authenticate", #"Bearer error="invalid_token""#) })
        let own = HTTPResponse.refusal(SignalError(.unauthenticated, ""), headers: [("WWW-Authenticate", "Bearer")])
        #expect(own.headers.count { $0.name == "WWW-Authenticate" } == 1)
    }

    @Test("each documented error is made, with its type and headers", arguments: documents)
    func documented(name: String) throws {
        for documented in try Self.document(name).responses {
            // A conflict with an Idempotency-Key: see `BackendResourcesTests`.
            if documented.status == 422 { continue }
            let made = Self.made.filter { $0.status == documented.status }
            #expect(!made.isEmpty, "\(documented.status)")
            #expect(documented.types == ["application/json"], "\(documented.status)")
            for header in documented.headers {
                #expect(made.contains { $0.headers.contains { $0.name == header } }, "\(documented.status) \(header)")
            }
        }
    }

    @Test("the refusals that are counted are those that are documented, and that of another method")
    func labels() throws {
        var statuses: Set = [405]
        for name in Self.documents { statuses.formUnion(try Self.document(name).responses.map(\.status)) }
        #expect(SessionCounters.statuses == statuses.sorted())
    }

    @Test("no error is made that is not documented, but for what no client of the document asks", arguments: documents)
    func undocumented(name: String) throws {
        let (responses, operations) = try Self.document(name)
        // Another method, another version of HTTP, and the path of WebSockets.
        var others: Set = [405, 426, 505]
        // Only the store's readers have faults of their own, and no phone asks them.
        if name == Self.documents[0] { others.insert(500) }
        let made = Set(Self.made.map(\.status))
        #expect(made.subtracting(responses.map(\.status)) == others)
        for operation in operations {
            #expect(operation.statuses.isSuperset(of: [401, 429, 431, 503]), "\(operation.name)")
            if operation.takesBody { #expect(operation.statuses.isSuperset(of: [411, 413]), "\(operation.name)") }
        }
    }
}
