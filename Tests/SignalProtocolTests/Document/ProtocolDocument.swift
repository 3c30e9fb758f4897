import Foundation

/// `Resources/reveille.asyncapi.json`, the protocol for programs: AsyncAPI 3, with directions as the server's. Its sibling
/// for HTTP, `Resources/reveille.openapi.json`, has the same schemas.
struct ProtocolDocument: Sendable {
    let root: JSONTree

    private static let repository = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    /// Read once in a run of the tests.
    private static let loaded = Result {
        ProtocolDocument(root: try JSONTree(try bytes("Resources/reveille.asyncapi.json")))
    }

    /// A schema that the document of HTTP names, as this one has it.
    private static let foreign = "reveille.asyncapi.json"

    static func shared() throws -> ProtocolDocument { try loaded.get() }

    /// A file of the repository.
    static func bytes(_ path: String) throws -> Data { try Data(contentsOf: repository.appending(path: path)) }

    // MARK: Messages

    /// An operation on the WebSocket.
    struct Operation {
        let method: String
        /// The schema of the whole frame.
        let frame: JSONTree
        /// The schema of the frame that answers; nil for what the server says.
        let answer: JSONTree?
    }

    /// What clients say.
    var clientOperations: [Operation] { operations("receive") }
    /// What the server says of itself.
    var serverOperations: [Operation] { operations("send") }

    private func operations(_ action: String) -> [Operation] {
        (root["operations"]?.members ?? [:]).sorted { $0.key < $1.key }.compactMap { _, operation in
            guard operation["action"]?.string == action,
                operation["channel"]?["$ref"]?.string == "#/channels/signal",
                let message = operation["messages"]?.elements?.first, let frame = payload(of: message),
                let method = frame["properties"]?["method"]?["const"]?.string
            else { return nil }
            let answer = operation["reply"]?["messages"]?.elements?.first
            return Operation(method: method, frame: frame, answer: answer.flatMap { payload(of: $0) })
        }
    }

    private func payload(of message: JSONTree) -> JSONTree? { resolved(message)["payload"].map(resolved) }

    /// A request by HTTP.
    struct HTTPOperation {
        let path: String
        /// The schema of the body; nil for a request without one.
        let body: JSONTree?
        /// The schema of the response's body, by status.
        let responses: [String: JSONTree]
    }

    /// The operations of `Resources/reveille.openapi.json`, with references into this document.
    static func httpOperations() throws -> [HTTPOperation] {
        let text = String(decoding: try bytes("Resources/reveille.openapi.json"), as: UTF8.self)
        let api = ProtocolDocument(root: try JSONTree(Data(text.replacing(foreign, with: "").utf8)))
        func schema(_ content: JSONTree?) -> JSONTree? { content?["content"]?["application/json"]?["schema"] }
        return (api.root["paths"]?.members ?? [:]).flatMap { path, item in
            ["get", "post"].compactMap { item[$0] }.map { operation in
                let responses = (operation["responses"]?.members ?? [:]).compactMapValues { schema(api.resolved($0)) }
                return HTTPOperation(path: path, body: schema(operation["requestBody"]), responses: responses)
            }
        }
    }

    /// The schema of a frame that answers with an error.
    var errorFrame: JSONTree? { root["components"]?["messages"]?["error"]?["payload"] }

    // MARK: Schemas

    var schemas: [String: JSONTree] { root["components"]?["schemas"]?.members ?? [:] }

    /// - Parameter path: the name of a schema, then names and places inside it, as in `Error/oneOf/0`.
    func schema(_ path: String) -> JSONTree? {
        var value = root["components"]?["schemas"]
        for part in path.split(separator: "/") {
            value = Int(part).flatMap { value?.elements?[$0] } ?? value?[String(part)]
            value = value.map(resolved)
        }
        return value
    }

    /// Follows `$ref`.
    func resolved(_ value: JSONTree) -> JSONTree {
        var value = value
        // References to references: as many as a message in a channel takes, and a bound should they go in circles.
        for _ in 0..<8 {
            guard let reference = value["$ref"]?.string else { break }
            let names = reference.dropFirst(2).split(separator: "/")
            value = names.reduce(root) { $0[String($1)] ?? .null }
        }
        return value
    }
}
