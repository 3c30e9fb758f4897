import CallVocabulary
import Glibc
import HTTP2
import Logging
import PushClient
import PushCore

extension PushTarget {
    /// What the push client is told of it.
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
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Instant(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }
}

extension Logger {
    static var silent: Logger { Logger(label: "bench", factory: { _ in SwiftLogNoOpLogHandler() }) }
}
