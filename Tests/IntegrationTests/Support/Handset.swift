import CallVocabulary
import EventLoop
import Foundation
import HTTP2
import PushSimulator
import SoftphoneKit
import SoftphoneSession
import TLS

/// The system side of a phone, registered with the push simulator: it receives pushes, and the test plays the app.
final class Handset: Sendable {
    /// The phone's link to the push simulator, on its loop.
    private final class Line {
        var link: PhoneLink?
    }

    let token: PushToken
    /// VoIP pushes in order of arrival.
    let pushes = Journal<CallPush>()
    /// Their payloads, as JSON.
    let payloads = Journal<String>()
    private let line: LoopBound<Line>

    init(token: PushToken, simulatorFolder: String, loop: EventLoop) async throws {
        self.token = token
        let manifest = try PushSimulatorManifest.load(folder: simulatorFolder)
        guard let endpoint = manifest.endpoint(token.environment.rawValue),
            let address = SocketAddress(host: endpoint.host, port: endpoint.port)
        else { throw InVain(what: "a push simulator for \(token.environment)") }
        let tls = try TLSClientContext(trust: .certificateAuthority(file: simulatorFolder + "/" + manifest.caFile))
        let (pushes, payloads) = (pushes, payloads)
        let attached = Journal<Void>()
        let line = await loop.run {
            let line = Line()
            line.link = PhoneLink(loop: loop, to: address, tls: tls) { _ in }
            line.link?.attach(token.token) { event in
                switch event {
                case .attached: attached.add(())
                case .push(let push):
                    payloads.add(String(decoding: push.payload, as: UTF8.self))
                    if let call = CallPush(handset: push.payload) { pushes.add(call) }
                case .killed, .detached: break
                }
            }
            return LoopBound(line, on: loop)
        }
        guard let line else { throw InVain(what: "the phones' loop") }
        self.line = line
        try await attached.first("the phone is attached") { $0 }
    }

    func switchOff() async {
        _ = await line.loop.run { [line] in
            line.value.link?.close()
            line.value.link = nil
        }
    }

    func push(of call: CallID) async throws -> CallPush {
        try await pushes.first("a push of the call") { $0.call == call ? $0 : nil }
    }
}

extension CallPush {
    /// Parses the payload as an app's push handler gets it.
    fileprivate init?(handset payload: [UInt8]) {
        guard let object = try? JSONSerialization.jsonObject(with: Data(payload)) as? [String: Any] else { return nil }
        self.init(fields: object.compactMapValues { $0 as? String ?? ($0 as? NSNumber)?.stringValue })
    }
}
