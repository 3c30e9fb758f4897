import AdminServer
import CallVocabulary
import TLS
import WebSocketServer

/// The certificates of a server's listeners. May be used from any thread.
struct ListenerCertificates: Sendable {
    let webSockets: WebSocketServer
    let admin: AdminService
    let metrics: MetricsListener?

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
}
