import FoundationEssentials

/// A service account's key file in Google's format.
struct ServiceAccount: Codable, Equatable {
    var type = "service_account"
    var projectID: String
    var privateKeyID: String
    var privateKey: String
    var clientEmail: String
    var clientID: String
    var authURI: String
    var tokenURI: String
    var universeDomain = "googleapis.com"

    private enum CodingKeys: String, CodingKey {
        case type
        case projectID = "project_id"
        case privateKeyID = "private_key_id"
        case privateKey = "private_key"
        case clientEmail = "client_email"
        case clientID = "client_id"
        case authURI = "auth_uri"
        case tokenURI = "token_uri"
        case universeDomain = "universe_domain"
    }

    /// - Parameter tokenURI: the URL of the OAuth endpoint.
    init(projectID: String, privateKeyID: String, privateKey: String, clientID: String, tokenURI: String) {
        self.projectID = projectID
        self.privateKeyID = privateKeyID
        self.privateKey = privateKey
        clientEmail = "reveille@\(projectID).iam.gserviceaccount.com"
        self.clientID = clientID
        authURI = tokenURI
        self.tokenURI = tokenURI
    }
}
