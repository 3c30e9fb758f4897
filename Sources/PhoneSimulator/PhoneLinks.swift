import CallVocabulary
import EventLoop
import HTTP2
import PushSimulator
import TLS

/// Shares connections to the push simulator among the phones of one loop.
///
/// Any thread. A connection is opened when a phone needs one, and closed when its last phone is switched off.
public final class PhoneLinks: Sendable {
    let manifest: PushSimulatorManifest
    let loop: EventLoop
    private let folder: String
    private let table: LoopBound<Table>

    /// - Parameter loop: the phones' loop.
    /// - Throws: ``WakeablePhone/Failure`` without a push simulator, `HTTP2Failure` for an unreadable certificate.
    public init(simulatorFolder: String, environment: PushEnvironment = .production, loop: EventLoop) throws {
        folder = simulatorFolder
        manifest = try PushSimulatorManifest.load(folder: simulatorFolder)
        guard let endpoint = manifest.endpoint(environment.rawValue),
            let address = SocketAddress(host: endpoint.host, port: endpoint.port)
        else { throw Self.missing(environment.rawValue, in: simulatorFolder) }
        let trust = TLSClientContext.Trust.certificateAuthority(file: simulatorFolder + "/" + manifest.caFile)
        self.loop = loop
        table = LoopBound(Table(loop: loop, address: address, tls: try TLSClientContext(trust: trust)), on: loop)
    }

    /// The Firebase project.
    /// - Throws: ``WakeablePhone/Failure`` when the simulator does not simulate FCM.
    func project() throws -> String {
        guard let fcm = manifest.fcm else { throw Self.missing("FCM", in: folder) }
        return fcm.project
    }

    private static func missing(_ service: String, in folder: String) -> WakeablePhone.Failure {
        WakeablePhone.Failure(description: "\(folder) names no \(service) push simulator")
    }

    /// A link with room for `tokens` more device tokens, released with ``leave(_:tokens:)``. On the loop.
    func join(tokens: Int) -> PhoneLink { table.value.join(tokens) }

    /// On the loop.
    func leave(_ link: PhoneLink, tokens: Int) { table.value.leave(link, tokens) }

    /// The open links, on the loop.
    private final class Table {
        private struct Entry {
            let link: PhoneLink
            var tokens = 0
        }

        private let loop: EventLoop
        private let address: SocketAddress
        private let tls: TLSClientContext
        private var entries: [Entry] = []

        init(loop: EventLoop, address: SocketAddress, tls: TLSClientContext) {
            self.loop = loop
            self.address = address
            self.tls = tls
        }

        func join(_ tokens: Int) -> PhoneLink {
            if let index = entries.lastIndex(where: { $0.tokens + tokens <= PhoneLink.mostPhones }) {
                entries[index].tokens += tokens
                return entries[index].link
            }
            var lost: PhoneLink?
            // Each of its phones is notified by itself.
            let link = PhoneLink(loop: loop, to: address, tls: tls) { [weak self] _ in
                self?.entries.removeAll { $0.link === lost }
                lost = nil
            }
            lost = link
            entries.append(Entry(link: link, tokens: tokens))
            return link
        }

        func leave(_ link: PhoneLink, _ tokens: Int) {
            guard let index = entries.firstIndex(where: { $0.link === link }) else { return }
            entries[index].tokens -= tokens
            guard entries[index].tokens == 0 else { return }
            entries.remove(at: index)
            link.close()
        }
    }
}
