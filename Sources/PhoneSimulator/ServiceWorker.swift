import CallVocabulary
import EventLoop
import Foundation
import OutgoingHTTP
import SoftphoneSession
import TLS

/// The requests of a simulated browser's service worker, which has no session: it reports and declines over HTTP with
/// the wake token of the push. Confined to its loop.
final class ServiceWorker {
    private static let patience = Duration.seconds(10)
    private static let longestAnswer = 64 * 1024

    /// `http://host:port` or `https://host:port`.
    private let origin: String
    private let client: WebClient

    /// - Parameters:
    ///   - server: the URL of the server's WebSocket.
    ///   - trust: the trust anchors for `https`.
    /// - Throws: `WakeablePhone.Failure` for another URL, `TLSFailure` for an unreadable certificate.
    init(loop: EventLoop, server: String, trust: TLSClientContext.Trust) throws {
        guard let scheme = server.range(of: "://"), server.hasPrefix("ws") else {
            throw WakeablePhone.Failure(description: "\(server) is neither a ws:// nor a wss:// URL")
        }
        let authority = server[scheme.upperBound...].prefix { $0 != "/" }
        origin = (server.hasPrefix("wss:") ? "https://" : "http://") + authority
        client = WebClient(
            loop: loop, tls: try TLSClientContext(trust: trust, speaking: .http1),
            userAgent: "reveille-phone-simulator")
    }

    /// - Parameter completion: gets why the server did not accept the request; nil if it did.
    func send(
        _ request: WakeablePhone.WorkerRequest, _ push: CallPush, completion: @escaping (_ failure: String?) -> Void
    ) {
        let (path, body) =
            switch request {
            case .report: ("/v1/pushes/\(push.push)/report", ["call_id": push.call.description, "result": "reported"])
            case .decline: ("/v1/calls/\(push.call)/decline", ["reason": "declined"])
            }
        guard let token = push.wakeToken else { return completion("the push has no wake_token") }
        guard let address = WebAddress(origin + path) else {
            return completion("\(origin) is not https://, and not of this machine")
        }
        let fields = [
            (name: "Authorization", value: "Bearer \(token)"), (name: "Content-Type", value: "application/json"),
        ]
        // Dictionaries of strings can be encoded.
        let bytes = Array((try? JSONEncoder().encode(body)) ?? Data())
        let web = WebRequest(
            .post, address, fields: fields, body: bytes, patience: Self.patience, longestAnswer: Self.longestAnswer,
            isRepeatable: true)
        client.send(web) { result in
            switch result {
            case .success(let answer) where answer.status == 200: completion(nil)
            case .success(let answer): completion("\(answer.status) \(String(decoding: answer.body, as: UTF8.self))")
            case .failure(let failure): completion(failure.description)
            }
        }
    }

    func close() { client.close() }
}

@available(*, unavailable)
extension ServiceWorker: Sendable {}
