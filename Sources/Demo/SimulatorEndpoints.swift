import CallServer
import CallVocabulary
import Foundation
import HTTP2
import PushClient
import PushSimulator

/// No push simulator has ever run on a folder.
public struct NoSimulator: Error, CustomStringConvertible, Sendable {
    public let folder: String
    public var description: String {
        "no push simulator has run on \(folder): start reveille push-sim first, or name the folder where it keeps its data"
    }
}

extension PushService.Configuration {
    /// Pushes to the simulator whose data folder is `folder`, in both environments.
    /// - Throws: ``NoSimulator`` when no simulator has been there, `SimulatorFolderError` when its manifest cannot be read.
    public static func simulator(folder: String) throws -> PushService.Configuration {
        guard FileManager.default.fileExists(atPath: folder + "/" + PushSimulatorManifest.fileName) else {
            throw NoSimulator(folder: folder)
        }
        let manifest = try PushSimulatorManifest.load(folder: folder)
        let pem = try String(contentsOfFile: folder + "/" + manifest.keyFile, encoding: .utf8)
        let key = APNSKey(pem: pem, keyID: manifest.keyID, teamID: manifest.teamID)
        return PushService.Configuration(
            apns: PushEnvironment.allCases.compactMap { environment in
                manifest.endpoint(environment.rawValue).map { endpoint in
                    APNSEndpoint(
                        environment: environment, host: endpoint.host, port: endpoint.port, key: key,
                        trust: .certificateAuthority(file: folder + "/" + manifest.caFile))
                }
            })
    }
}
