import AdminProtocol
import CallCore
import CallVocabulary
import EventLoop
import Foundation
import HTTP2
import LibWebSockets
import PushClient
import PushCore
import PushVocabulary
import TLS
import TestCleanup
import Testing

@testable import CallServer

/// Types redact their secrets, however they or their containers are printed.
@Suite("Redaction", .cleanup)
struct RedactionTests {
    /// The secret part of a push token: it follows the eight characters that may be shown.
    private static let marker = "c0ffee5ec2e7c0ffee"
    private static let json = RawJSON(bytes: Array("\"\(marker)\"".utf8))
    private static let start = Instant(milliseconds: 1_000_000)
    private static let alice = Handle("alice")!
    private static let key = DeviceKey(user: alice, device: DeviceID(high: 1, low: 2))
    private static let token = PushToken(
        provider: .apns, kind: .voip, environment: .production, topic: "t.voip", token: "0123456789ab" + marker)
    private static let connection = ConnectionID(shard: 0, serial: 1)

    private static func texts(of value: some Any) -> [String: String] {
        var dumped = ""
        dump(value, to: &dumped)
        var printed = ""
        print(value, to: &printed)
        var debugged = ""
        debugPrint(value, to: &debugged)
        return [
            "describing": String(describing: value), "reflecting": String(reflecting: value), "dump": dumped,
            "interpolation": "\(value)", "print": printed, "debugPrint": debugged,
            "optional": "\(Optional(value) as Any)", "array": "\([value, value])", "dictionary": "\(["a": value])",
        ]
    }

    private static func check(_ value: some Any, _ location: SourceLocation = #_sourceLocation) {
        for (how, text) in texts(of: value) {
            let bytes = marker.utf8.prefix(6).map { "\($0)" }.joined(separator: ", ")
            #expect(!text.contains(marker), "\(how) of \(type(of: value)): \(text)", sourceLocation: location)
            // An array of bytes prints as numbers.
            #expect(!text.contains(bytes), "\(how) of \(type(of: value)): \(text)", sourceLocation: location)
        }
    }

    @Test("these tests detect an unredacted secret")
    func check() {
        struct Open { var token = RedactionTests.marker }
        #expect(Self.texts(of: Open()).values.allSatisfy { $0.contains(Self.marker) })
    }

    @Test("secrets and raw values are redacted, also within other values")
    func basics() {
        struct Holder {
            @Secret var token: String
            @Secret var maybe: String?
        }
        Self.check(Secret(wrappedValue: Self.marker))
        Self.check(Secret(wrappedValue: Array(Self.marker.utf8)))
        Self.check(Holder(token: Self.marker, maybe: Self.marker))
        #expect("\(Secret(wrappedValue: Self.marker))" == "‹redacted›")
        Self.check(Self.json)
        #expect("\(Self.json)" == "‹20 bytes›")
        #expect(Self.json.json == "\"\(Self.marker)\"")
        Self.check(Self.token)
        #expect("\(Self.token)" == "apns/voip/production t.voip 01234567…")
        #expect(Self.token.token.hasSuffix(Self.marker))
    }

    private static var open: SessionOpen {
        SessionOpen(
            token: marker, device: DeviceDescription(id: key.device, platform: .ios), push: [token],
            resume: ResumeRequest(session: SessionID(high: 1, low: 2), token: marker, lastSeq: 3))
    }

    private static var invite: Invite {
        Invite(call: CallID(high: 1, low: 1), to: .user(alice), sdp: json, custom: json)
    }

    @Test("messages of clients")
    func clientMessages() {
        let call = Self.invite.call
        let requests: [ClientRequest] = [
            .open(Self.open), .updateDevice(push: [Self.token]), .invite(Self.invite), .answer(call, sdp: Self.json),
        ]
        for request in requests {
            Self.check(ClientMessage.request(.number(1), request))
            Self.check(CoreInput.client(.requested(Self.connection, .number(1), request)))
        }
        Self.check(CoreInput.client(.opened(Self.connection, .number(1), Self.open, SessionGrant(user: Self.alice))))
        let candidates = CallCandidates(call: call, candidates: [Self.json, Self.json])
        Self.check(ClientMessage.notification(.candidates(candidates)))
        Self.check(CoreInput.client(.notified(Self.connection, nil, .candidates(candidates))))
    }

    @Test("messages of the server")
    func serverMessages() {
        var snapshot = CallSnapshot(
            call: Self.invite.call, role: .callee, state: .ringing, from: Self.alice, to: .user(Self.alice),
            video: false, createdAt: Self.start)
        snapshot.sdp = Self.json
        let opened = SessionOpened(
            session: SessionID(high: 1, low: 2), user: Self.alice, resumeToken: Self.marker,
            resumeWindow: .seconds(30), resumed: false, calls: [snapshot], missed: [])
        let incoming = IncomingCall(
            call: snapshot.call, from: Self.alice, fromName: nil, to: .user(Self.alice), video: false, sdp: Self.json,
            candidates: [Self.json], custom: Self.json, expiresAt: Self.start, push: nil)
        let change = CallStateChange(
            call: snapshot.call, state: .answered, at: Self.start, sdp: Self.json, waking: 0, ringing: 0)
        let messages: [ServerMessage] = [
            .reply(.number(1), .opened(opened)), .reply(.number(1), .call(snapshot)),
            .reply(.number(1), .calls([snapshot], next: nil)), .event(seq: 1, .incoming(incoming)),
            .event(seq: 2, .state(change)),
            .event(seq: 3, .candidates(CallCandidates(call: snapshot.call, candidates: [Self.json]))),
        ]
        for message in messages {
            Self.check(message)
            Self.check(CoreEffect.send(Self.connection, message))
            Self.check(ShardMessage.send(1, message))
        }
    }

    @Test("records of the store")
    func records() {
        let call = Self.invite.call
        let device = DeviceRecord(
            key: Self.key, platform: .ios, app: nil, name: nil,
            tokens: [DeviceRecord.Token(token: Self.token, registeredAt: Self.start)], seenAt: Self.start,
            unreportedStreak: 0, suspendedAt: nil)
        let push = PushRecord(
            id: PushID(high: 1, low: 1), call: call, device: Self.key, token: Self.token, intendedAt: Self.start,
            expiresAt: Self.start)
        let descriptions = DescriptionsRecord(call: call, offer: Self.json, custom: Self.json, answer: Self.json)
        let records: [StoreRecord] = [
            .device(device), .push(push), .descriptions(descriptions),
            .candidates(CandidateRecord(call: call, device: nil, candidates: [Self.json], isFinal: false)),
        ]
        for record in records {
            Self.check(record)
            Self.check(CoreEffect.persist(record))
        }
        var state = RecoveredState()
        var entry = DirectoryEntry(name: device.key.user)
        entry.devices = [device]
        state.users = [entry]
        state.pushes = [push]
        state.descriptions = [descriptions]
        Self.check(state)
    }

    @Test("orders and requests to push, for either provider")
    func pushes() throws {
        let fcm = PushToken(
            provider: .fcm, kind: .data, environment: .production, topic: "project", token: "0123456789" + Self.marker)
        let hexadecimal = PushToken(
            provider: .apns, kind: .voip, environment: .production, topic: "t.voip",
            token: "01234567c0ffee5ec2e7c0ffee".filter(\.isHexDigit))
        for token in [hexadecimal, fcm] {
            let intent = PushIntent(
                id: PushID(high: 1, low: 1), call: Self.invite.call, user: Self.alice, device: Self.key.device,
                token: token, from: Self.alice, fromName: nil, video: false, custom: Self.json,
                expiresAt: Self.start + .seconds(45))
            Self.check(intent)
            Self.check(CoreEffect.queuePush(intent))
            Self.check(CoreEffect.queueNewPush(intent))
            let request = try PushRequest(intent, wakeToken: Self.marker)
            Self.check(request)
            for field in request.sharedFields(providerToken: Self.marker) { Self.check(field) }
            Self.check(PushTerms(expiresAt: Self.start, token: token))
        }
        Self.check(HTTPField("authorization", "bearer \(Self.marker)"))
        Self.check(HTTPField("x", Self.marker, isSensitive: true))
        #expect("\(HTTPField("apns-topic", "t"))" == "apns-topic: t")
        Self.check(
            HTTP2Request(
                method: "POST", authority: "h", path: "/3/device/\(Self.marker)", isPathSensitive: true,
                fields: [HTTPField("authorization", Self.marker)], body: Array(Self.marker.utf8)))
        Self.check(
            HTTPRequest(
                method: .get, target: "/v1/calls?\(Self.marker)", path: "/v1/calls",
                authorization: "Bearer \(Self.marker)",
                body: Array(Self.marker.utf8)))
    }

    @Test("keys, and configurations with keys in them")
    func configurations() async throws {
        let key = APNSKey(pem: Self.marker, keyID: "KEY", teamID: "TEAM")
        Self.check(key)
        let endpoint = APNSEndpoint(environment: .production, key: key)
        Self.check(endpoint)
        Self.check(TLSIdentity(certificateChainPEM: Self.marker, privateKeyPEM: Self.marker))
        let folder = try DataFolder.temporary()
        var configuration = ServerConfiguration(address: .anyPort, data: folder)
        configuration.push.apns = [endpoint]
        Self.check(configuration.push)
        Self.check(configuration)

        let secret = try folder.secret("client-token.key")
        let authority = try await TokenAuthority(folder: folder)
        let bytes = secret.prefix(6).map { "\($0)" }.joined(separator: ", ")
        for (how, text) in Self.texts(of: authority) { #expect(!text.contains(bytes), "\(how)") }
        #expect("\(authority)" == "TokenAuthority(‹redacted›)")
    }
}
