import AdminServer
import CallVocabulary
import Foundation
import LibWebSockets
import Logging
import TLS
import WebSocketServer

/// The certificates of a server's listeners, and warnings about their expiry. May be used from any thread.
struct ListenerCertificates: Sendable {
    /// Automatic renewal is done earlier than this, and a person still has time to act.
    static let warningTime = Duration.seconds(14 * 24 * 3600)

    let webSockets: WebSocketServer
    let admin: AdminService
    let metrics: MetricsListener?
    let clock: ServerClock

    /// The expiry times by listener name.
    var ends: [(listener: String, at: Instant)] {
        [
            ("signal", webSockets.certificate), ("admin", admin.certificate), ("metrics", metrics?.certificate),
        ].compactMap { listener, certificate in
            certificate.map { (listener, Instant(milliseconds: $0.expiresAt * 1000)) }
        }
    }

    /// As ``ends``, a certificate that several listeners share only once, for the first of them.
    var distinct: [(listener: String, at: Instant)] { Self.distinct(ends) }

    static func distinct(_ ends: [(listener: String, at: Instant)]) -> [(listener: String, at: Instant)] {
        ends.enumerated().filter { index, end in !ends[..<index].contains { $0.at == end.at } }.map(\.element)
    }

    /// Warnings for the operator, as text.
    var warnings: [String] {
        distinct.compactMap { listener, end in
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
