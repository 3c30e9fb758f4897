import FoundationEssentials

/// What a server has to know to push through the simulator: the contents of `push-sim.json` in its data folder.
///
/// File names are relative to the folder, so that it may be moved or mounted elsewhere.
public struct PushSimulatorManifest: Codable, Equatable, Sendable {
    /// The name of the file in the folder.
    public static let fileName = "push-sim.json"

    /// Where one of the two environments is served.
    public struct Endpoint: Codable, Equatable, Sendable {
        /// `production` or `sandbox`.
        public var environment: String
        public var host: String
        public var port: UInt16
    }

    /// Where FCM is played, with the OAuth endpoint and the registration API at the same port.
    public struct FCM: Codable, Equatable, Sendable {
        public var host: String
        public var port: UInt16
        /// The key file of the service account: Google's JSON. Its `token_uri` is the simulator's.
        public var serviceAccountFile: String
        /// The Firebase project.
        public var project: String

        private enum CodingKeys: String, CodingKey {
            case host, port
            case serviceAccountFile = "service_account_file"
            case project
        }
    }

    public var endpoints: [Endpoint]
    /// The certificate to trust, in PEM.
    public var caFile: String
    /// The APNs auth key to sign provider tokens with: a P-256 private key in PEM (PKCS #8), as Apple's `.p8`.
    public var keyFile: String
    public var keyID: String
    public var teamID: String
    /// The app's bundle identifier; VoIP pushes go to `<topic>.voip`.
    public var topic: String
    /// A certificate as Apple's for VoIP services, to push without tokens, and its key; both in PEM.
    public var certificateFile: String?
    public var certificateKeyFile: String?
    public var fcm: FCM?

    private enum CodingKeys: String, CodingKey {
        case endpoints
        case caFile = "ca_file"
        case keyFile = "key_file"
        case keyID = "key_id"
        case teamID = "team_id"
        case topic
        case certificateFile = "certificate_file"
        case certificateKeyFile = "certificate_key_file"
        case fcm
    }

    /// Where `environment` is served.
    public func endpoint(_ environment: String) -> Endpoint? {
        endpoints.first { $0.environment == environment }
    }

    /// Reads the manifest of the simulator whose data folder is `folder`.
    /// - Throws: ``SimulatorFolderError`` when there is none or it cannot be read.
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
