import CallVocabulary
import Foundation

/// A Google service account, as issued by the Firebase console: a JSON file with a private key.
public struct FCMServiceAccount: Equatable, Sendable {
    public let project: String
    public let email: String
    /// RSA, in PEM.
    @Secret public private(set) var privateKey: String
    public let privateKeyID: String?
    /// The URL for access tokens.
    public let tokenURL: URL

    private struct Content: Decodable {
        var type: String?
        var project_id: String?
        var private_key_id: String?
        var private_key: String?
        var client_email: String?
        var token_uri: String?
    }

    /// - Parameter source: the file's name, for errors, which never quote its content.
    /// - Throws: ``PushConfigurationError`` that names the field.
    public init(json: String, source: String = "service account") throws {
        func fail(_ field: String?, _ problem: String) -> PushConfigurationError {
            PushConfigurationError(source: source, field: field, problem: problem)
        }
        let text = json.trimmingCharacters(in: .whitespacesAndNewlines)
        if text.hasPrefix("AAAA") || text.hasPrefix("key=") {
            throw fail(
                nil,
                "this is a server key of FCM's legacy API, which was shut down in 2024: "
                    + "create a service account key (JSON) in the Firebase console")
        }
        guard let content = try? JSONDecoder().decode(Content.self, from: Data(text.utf8)) else {
            throw fail(nil, "this is not the JSON of a service account key")
        }
        func need(_ field: String, _ value: String?) throws -> String {
            guard let value, !value.isEmpty else { throw fail(field, "is missing") }
            return value
        }
        guard content.type == nil || content.type == "service_account" else {
            throw fail("type", "is not service_account: create a key for a service account in the Firebase console")
        }
        project = try need("project_id", content.project_id)
        email = try need("client_email", content.client_email)
        privateKey = try need("private_key", content.private_key)
        privateKeyID = content.private_key_id
        let address = try need("token_uri", content.token_uri)
        guard let url = URL(string: address), url.scheme == "https", let host = url.host(), !host.isEmpty else {
            throw fail("token_uri", "is not an https address")
        }
        tokenURL = url
        do {
            _ = try AccessTokenRequest(privateKey: privateKey)
        } catch {
            // The library's message may quote the key, so it is omitted.
            throw fail("private_key", "is not an RSA private key in PEM")
        }
    }
}
