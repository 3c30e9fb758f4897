import FoundationEssentials

/// The data a server needs to push through the simulator: the content of `push-sim.json` in its data folder.
///
/// File names are relative to the folder, so that it can be moved or mounted elsewhere.
public struct PushSimulatorManifest: Codable, Equatable, Sendable {
    public static let fileName = "push-sim.json"

    /// The address of one environment.
    public struct Endpoint: Codable, Equatable, Sendable {
        /// `production` or `sandbox`.
        public var environment: String
        public var host: String
        public var port: UInt16
    }

    /// The address of FCM, with the OAuth endpoint and the registration API.
    public struct FCM: Codable, Equatable, Sendable {
        public var host: String
        public var port: UInt16
        /// The service account's key file in Google's format. Its `token_uri` is the simulator's.
        public var serviceAccountFile: String
        public var project: String

        private enum CodingKeys: String, CodingKey {
            case host, port
            case serviceAccountFile = "service_account_file"
            case project
        }
    }

    /// The address of the Web Push service.
    public struct WebPush: Codable, Equatable, Sendable {
        public var host: String
        public var port: UInt16
        /// The sender's contact for `sub` of its VAPID tokens. The sender's key is its own: a browser subscribes with the
        /// key that the sender names.
        public var subject: String

        /// The origin of the endpoints, and `aud` of VAPID tokens.
        public var origin: String { SimulatorFolder.origin(host: host, port: port) }
    }

    public var endpoints: [Endpoint]
    /// The CA certificate to trust, in PEM.
    public var caFile: String
    /// The APNs auth key for provider tokens: a P-256 private key in PEM (PKCS #8), like Apple's `.p8`.
    public var keyFile: String
    public var keyID: String
    public var teamID: String
    /// The app's bundle identifier; VoIP pushes go to `<topic>.voip`.
    public var topic: String
    /// A certificate like Apple's for VoIP services, to push without tokens, and its key; both in PEM.
    public var certificateFile: String?
    public var certificateKeyFile: String?
    public var fcm: FCM?
    public var webpush: WebPush?

    private enum CodingKeys: String, CodingKey {
        case endpoints
        case caFile = "ca_file"
        case keyFile = "key_file"
        case keyID = "key_id"
        case teamID = "team_id"
        case topic
        case certificateFile = "certificate_file"
        case certificateKeyFile = "certificate_key_file"
        case fcm, webpush
    }

    public func endpoint(_ environment: String) -> Endpoint? {
        endpoints.first { $0.environment == environment }
    }

    /// Reads the manifest in a simulator's data folder.
    /// - Throws: ``SimulatorFolderError`` when it is missing or unreadable.
    public static func load(folder: String) throws -> Self {
        let path = folder + "/" + fileName
        guard FileManager.default.fileExists(atPath: path) else {
            throw SimulatorFolderError(
                path: path,
                problem:
                    "no push simulator has run there; start reveille push-sim, or name its folder with --push-sim-data")
        }
        do {
            return try JSONDecoder().decode(Self.self, from: Data(contentsOf: URL(filePath: path)))
        } catch {
            throw SimulatorFolderError(path: path, problem: "\(error)")
        }
    }
}

/// The data folder cannot be used.
public struct SimulatorFolderError: Error, CustomStringConvertible, Sendable {
    public var path: String
    public var problem: String

    public var description: String { "push simulator data, \(path): \(problem)" }
}
