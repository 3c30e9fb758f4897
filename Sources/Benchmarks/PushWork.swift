import CallVocabulary
import Determinism
import Foundation
import PushCore
import PushVocabulary

/// The pushes of every contender: the same paths, headers and bodies, as far as its interface permits.
public struct PushWork: Sendable {
    public struct Size: Equatable, Codable, Sendable, CustomStringConvertible {
        public var pushes: Int
        public var connections = 4
        public var streams = 250
        public var tokens = 4000
        public var bodyBytes = 300

        public init(pushes: Int) {
            self.pushes = pushes
        }

        public var description: String {
            """
            \(pushes) pushes a run over TLS to nghttpd, \(connections) connections x \(streams) streams, \(tokens) \
            device tokens, \(bodyBytes)-byte bodies
            """
        }
    }

    static let topic = "org.example.phone.voip"
    static let keyID = "BENCHKEY00"
    static let teamID = "BENCHTEAM0"

    let size: Size
    /// One for each token. Each contender assigns ids.
    let orders: [PushIntent]
    /// Its length gives the body the configured size.
    let wakeToken: String
    let expiresAt: Instant

    /// - Parameter now: the pushes expire an hour later.
    init(size: Size, now: Instant) throws(BenchmarkError) {
        let expiresAt = now + .seconds(3600)
        var random = SeededGenerator(seed: 1)
        orders = (0..<size.tokens).map { _ in Self.order(expiresAt: expiresAt, random: &random) }
        guard let intent = orders.first, let least = APNSPayload(voip: intent, wakeToken: "")?.bytes(now: now).count,
            least <= size.bodyBytes
        else { throw BenchmarkError("a push needs a longer body than \(size.bodyBytes) bytes") }
        wakeToken = String(repeating: "w", count: size.bodyBytes - least)
        self.size = size
        self.expiresAt = expiresAt
    }

    private static func order(expiresAt: Instant, random: inout SeededGenerator) -> PushIntent {
        let digits = (0..<4).map { _ in
            let word = String(random.next(), radix: 16)
            return String(repeating: "0", count: 16 - word.count) + word
        }
        // Valid handles: not empty, without white space.
        let (caller, callee) = (Handle("+14155550100")!, Handle("bob")!)
        return PushIntent(
            id: PushID(random: &random), call: CallID(random: &random), user: callee, device: DeviceID(random: &random),
            token: PushToken(
                provider: .apns, kind: .voip, environment: .production, topic: topic, token: digits.joined()),
            from: caller, fromName: "Alice", video: false, custom: nil, expiresAt: expiresAt)
    }

    /// h2load requests each path on all connections at about the same time, so nghttpd opens the file only once. The
    /// other contenders use each token as many times in a row as there are connections.
    func order(_ index: Int) -> PushIntent {
        var intent = orders[token(index)]
        intent.id = PushID(high: 0x4000, low: 0x8000_0000_0000_0000 | UInt64(index))
        return intent
    }

    /// The number of pushes until they repeat.
    var round: Int { orders.count * size.connections }

    private func token(_ index: Int) -> Int { index / size.connections % orders.count }

    /// The number of the push with this id.
    func index(of push: PushID) -> Int { Int(push.low & 0x7FFF_FFFF) }

    /// Concurrent pushes: as many queued as in flight, so that no stream is idle.
    var window: Int { 2 * size.streams * size.connections }

    var paths: [String] { orders.map(Self.path) }

    func path(_ index: Int) -> String { Self.path(orders[token(index)]) }

    private static func path(_ intent: PushIntent) -> String { "/3/device/\(intent.token.token)" }

    /// The body of the first push. The others have the same size and other ids.
    var body: [UInt8] {
        // Force-unwrap: init made the same payload.
        APNSPayload(voip: orders[0], wakeToken: wakeToken)!.bytes(now: expiresAt + .seconds(-3600))
    }

    /// The headers shared by all pushes, with a placeholder of the provider token's size. The push client also sends
    /// `apns-id`; h2load sends `content-length` and `user-agent`.
    var constantFields: [(name: String, value: String)] {
        [
            ("authorization", "bearer \(Self.standInToken)"), ("apns-topic", Self.topic), ("apns-push-type", "voip"),
            ("apns-priority", "10"), ("apns-expiration", String(expiresAt.wholeSeconds)),
        ]
    }

    private static var standInToken: String {
        let header = #"{"alg":"ES256","kid":"\#(keyID)","typ":"JWT"}"#
        let claims = #"{"iat":1700000000,"iss":"\#(teamID)"}"#
        let parts = [header, claims].map { text in
            Data(text.utf8).base64EncodedString().replacingOccurrences(of: "=", with: "")
        }
        // An ES256 signature is 64 bytes.
        return (parts + [String(repeating: "s", count: 86)]).joined(separator: ".")
    }
}
