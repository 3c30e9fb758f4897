import CallVocabulary
import Foundation
import HTTP2
import Logging
import PushClient
import PushCore
import TLS

extension PushTarget {
    /// The push client's settings for it.
    func endpoint(_ work: PushWork) -> APNSEndpoint {
        var endpoint = APNSEndpoint(
            environment: .production, host: "127.0.0.1", port: port,
            key: APNSKey(pem: keyPEM, keyID: PushWork.keyID, teamID: PushWork.teamID),
            trust: .certificateAuthority(file: certificateFile))
        endpoint.policy.connections = work.size.connections
        endpoint.policy.streamsPerConnection = work.size.streams
        endpoint.policy.connectStagger = .zero
        return endpoint
    }
}

extension Instant {
    static func now() -> Instant {
        Instant(milliseconds: Int64(Date().timeIntervalSince1970 * 1000))
    }
}

extension Logger {
    static var silent: Logger { Logger(label: "bench", factory: { _ in SwiftLogNoOpLogHandler() }) }
}
