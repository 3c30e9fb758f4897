import AdminServer
import CallVocabulary
import Foundation
import LibWebSockets
import Logging
import WebSocketServer

/// The certificates that a server's listeners show, and what there is to say of their ends. Any thread.
struct ListenerCertificates: Sendable {
    /// Who renews by itself has done so by then, and a person has the time to do it.
    static let warningTime = Duration.seconds(14 * 24 * 3600)

    let webSockets: WebSocketServer
    let admin: AdminService
    let metrics: MetricsListener?
    let clock: ServerClock

    /// By the listener's name.
    var ends: [(listener: String, at: Instant)] {
        [
            ("signal", webSockets.certificate), ("admin", admin.certificate), ("metrics", metrics?.certificate),
        ].compactMap { listener, certificate in
            certificate.map { (listener, Instant(milliseconds: $0.expiresAt * 1000)) }
        }
    }

    /// What somebody should do something about, in words.
    var warnings: [String] {
        ends.compactMap { listener, end in
            Self.warning(end, now: clock.wallTime()).map { "the \(listener) listener: \($0)" }
        }
    }

    func warn(_ log: Logger) {
        for warning in warnings { log.warning("\(warning)") }
    }

    static func warning(_ expiresAt: Instant, now: Instant) -> String? {
        let day = Date(timeIntervalSince1970: Double(expiresAt.wholeSeconds)).formatted(.iso8601.year().month().day())
        if expiresAt <= now {
            return "the certificate has expired on \(day): clients cannot connect; renew it and reload"
        }
        if expiresAt - now < warningTime { return "the certificate expires on \(day): renew it and reload" }
        return nil
    }
}
