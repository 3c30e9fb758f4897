import AdminServer
import CallMonitor
import CallVocabulary
import TLS
import WebSocketServer

/// The certificates that a server's listeners use. May be used from any thread.
struct ListenerCertificates: Sendable {
    let webSockets: WebSocketServer
    let admin: AdminService
    let metrics: MetricsListener?

    /// By listener, with the authorities of administrators' certificates.
    var all: [ServerFacts.Certificate] {
        Self.facts(
            signal: webSockets.certificate?.list, admin: admin.certificate?.list, metrics: metrics?.certificate?.list,
            authorities: admin.clientAuthorities?.list)
    }

    /// As ``all``, a certificate that several listeners share only once, for the first of them.
    var distinct: [ServerFacts.Certificate] { Self.distinct(all) }

    static func facts(
        signal: TLSCertificateList?, admin: TLSCertificateList?, metrics: TLSCertificateList?,
        authorities: TLSCertificateList?
    ) -> [ServerFacts.Certificate] {
        let lists = [
            ("signal", signal), ("admin", admin), ("metrics", metrics),
            (ServerFacts.Certificate.authorities, authorities),
        ]
        return lists.compactMap { listener, list in
            list?.firstToEnd.map { first in
                ServerFacts.Certificate(
                    listener: listener, name: first.name, ends: Instant(milliseconds: first.expiresAt * 1000))
            }
        }
    }

    static func distinct(_ certificates: [ServerFacts.Certificate]) -> [ServerFacts.Certificate] {
        certificates.enumerated().filter { index, certificate in
            let isKnown = certificates[..<index].contains { $0.ends == certificate.ends && $0.name == certificate.name }
            return !isKnown || certificate.listener == ServerFacts.Certificate.authorities
        }.map(\.element)
    }
}
