import CallVocabulary
import Foundation
import HTTP2
import PushClient
import PushSimulator
import TLS

/// No push simulator has ever run on a folder.
public struct NoSimulator: Error, CustomStringConvertible, Sendable {
    public let folder: String
    public var description: String {
        "no push simulator has run on \(folder): start reveille push-sim first, or name its folder with "
            + "--push-sim-data"
    }
}

extension PushService.Configuration {
    /// Pushes to the simulator whose data folder is `folder`: by APNs in both environments, and by FCM and Web Push if it
    /// plays them. Web Push has no key yet.
    /// - Throws: ``NoSimulator`` when no simulator has been there, `SimulatorFolderError` when its manifest cannot be read,
    ///   `PushConfigurationError` when its service account cannot be used.
    public static func simulator(folder: String) throws -> PushService.Configuration {
        let manifest = try manifest(folder: folder)
        let pem = try String(contentsOfFile: folder + "/" + manifest.keyFile, encoding: .utf8)
        let key = APNSKey(pem: pem, keyID: manifest.keyID, teamID: manifest.teamID)
        let apns = PushEnvironment.allCases.compactMap { environment in
            manifest.endpoint(environment.rawValue).map { endpoint in
                APNSEndpoint(
                    environment: environment, host: endpoint.host, port: endpoint.port, key: key,
                    trust: .certificateAuthority(file: folder + "/" + manifest.caFile))
            }
        }
        return PushService.Configuration(
            apns: apns, fcm: try FCMEndpoint.simulator(folder: folder, manifest).map { [$0] } ?? [],
            webPush: WebPushEndpoint.simulator(folder: folder, manifest))
    }

    static func manifest(folder: String) throws -> PushSimulatorManifest {
        guard FileManager.default.fileExists(atPath: folder + "/" + PushSimulatorManifest.fileName) else {
            throw NoSimulator(folder: folder)
        }
        return try PushSimulatorManifest.load(folder: folder)
    }
}

extension FCMEndpoint {
    /// FCM as the simulator plays it whose data folder is `folder`; nil when it does not.
    /// - Throws: ``NoSimulator``, `SimulatorFolderError`, `PushConfigurationError`.
    public static func simulator(folder: String) throws -> FCMEndpoint? {
        try simulator(folder: folder, PushService.Configuration.manifest(folder: folder))
    }

    fileprivate static func simulator(folder: String, _ manifest: PushSimulatorManifest) throws -> FCMEndpoint? {
        guard let fcm = manifest.fcm else { return nil }
        let path = folder + "/" + fcm.serviceAccountFile
        let account = try FCMServiceAccount(json: String(contentsOfFile: path, encoding: .utf8), source: path)
        return FCMEndpoint(
            account: account, host: fcm.host, port: fcm.port,
            trust: .certificateAuthority(file: folder + "/" + manifest.caFile))
    }
}

extension WebPushEndpoint {
    /// Web Push as the simulator plays it whose data folder is `folder`, without a key; nil when it does not.
    fileprivate static func simulator(folder: String, _ manifest: PushSimulatorManifest) -> WebPushEndpoint? {
        guard let service = manifest.webpush, let host = WebPushHost("\(service.host):\(service.port)") else {
            return nil
        }
        return WebPushEndpoint(
            key: nil, subject: service.subject, hosts: [host],
            trust: .certificateAuthority(file: folder + "/" + manifest.caFile))
    }
}
