import CallVocabulary
import Foundation
import ReveilleClient
import SoftphoneSession

// Plays phones against a server: both sides of a call, or the phone that a push has woken. Prints the events. Exits with 1
// at an unexpected one.
//
//     example-phone ws://127.0.0.1:7350 call ALICE_TOKEN BOB_TOKEN
//     example-phone ws://127.0.0.1:7350 woken PAYLOAD DEVICE_ID
//     example-phone ws://127.0.0.1:7350 declines PAYLOAD
//
// PAYLOAD is the JSON of a VoIP push; the app has no token of its own.

struct Locked: Error {}

func call(_ server: String, _ aliceToken: String, _ bobToken: String) async throws {
    let alice = try Phone(server, token: .fixed(aliceToken))
    let bob = try Phone(server, token: .fixed(bobToken))
    try expect(try await alice.softphone.connect().user.text == "alice", "alice's session")
    try expect(try await bob.softphone.connect().user.text == "bob", "bob's session")

    guard let called = Handle("bob") else { throw Unexpected(what: "a handle") }
    let id = try await alice.softphone.call(.user(called), sdp: .text("offer"))
    let incoming = try await bob.incoming()
    try expect(incoming.id == id && incoming.sdp == .text("offer"), "the call: \(incoming)")
    _ = try await alice.state(.ringing, of: id)
    try await bob.softphone.answer(id, sdp: .text("answer"))
    try expect(try await alice.state(.answered, of: id).sdp == .text("answer"), "bob's answer")
    let candidate = RawJSON(bytes: Array(#"{"candidate":"candidate:1 1 UDP 1 192.0.2.1 9 typ host"}"#.utf8))
    alice.softphone.sendCandidates(CallCandidates(call: id, candidates: [candidate], isFinal: true))
    let candidates = try await bob.event("candidates") { if case .candidates(let seen) = $0 { seen } else { nil } }
    try expect(candidates.call == id && Array(candidates.candidates) == [candidate], "\(candidates)")
    try await alice.softphone.connected(id)
    try await bob.softphone.connected(id)
    _ = try await alice.state(.connected, of: id)

    // The network of alice breaks: her phone resumes, and loses nothing.
    alice.softphone.cutConnection()
    try await alice.event("a resumed session") { if case .connection(.resumed) = $0 { () } else { nil } }
    try await bob.softphone.hold(id)
    let update = try await alice.event("hold") { if case .update(let update) = $0 { update } else { nil } }
    try expect(update.kind == .hold, "\(update)")

    try await alice.softphone.hangup(id)
    try expect(try await bob.state(.ended, of: id).reason == .hangup, "the end")
    await alice.softphone.disconnect()
    await bob.softphone.disconnect()

    do {
        try await Phone(server, token: .fixed("no token")).softphone.connect()
        throw Unexpected(what: "a bad token was accepted")
    } catch SoftphoneError.gone(let reason) {
        print("a bad token: \(reason)")
    }
}

func incomingPush(_ payload: String) throws -> (push: CallPush, token: String) {
    let object = try JSONSerialization.jsonObject(with: Data(payload.utf8))
    let incoming = IncomingPush(payload: object as? [String: Any] ?? [:])
    guard let push = incoming.push, let token = push.wakeToken else {
        throw Unexpected(what: "the payload: \(payload)")
    }
    try expect(incoming.uuid.uuidString.lowercased() == push.call.description, "the UUID")
    try expect(!incoming.handle.isEmpty, "the handle")
    return (push, token)
}

/// As after a restart, before the first unlock: no keychain, and so no token but the push's.
func woken(_ server: String, _ payload: String, _ device: DeviceID) async throws {
    let (push, token) = try incomingPush(payload)
    let requests = try CallRequests(server: server, token: token)
    // CallKit has taken the call.
    let report = PushReport(push: push.push, call: push.call, result: ReportResult(incomingCallError: nil))
    try expect(try await requests.report(report) == CallStanding(state: .ringing), "the report's answer")
    let snapshot = try await requests.get(push.call)
    try expect(snapshot.role == .callee && snapshot.sdp == .text("offer"), "\(snapshot)")
    do {
        _ = try await requests.get(.random())
        throw Unexpected(what: "the wake token opened another call")
    } catch SoftphoneError.refused(let error) {
        try expect(error.code == .forbidden, "\(error)")
    }

    let phone = try Phone(server, token: .provider { throw Locked() }, device: device)
    phone.softphone.received(push)
    try expect(try await phone.incoming().id == push.call, "the call")
    // The user answers before the socket is open.
    try await phone.softphone.answer(push.call, sdp: .text("answer"))
    try await phone.softphone.connected(push.call)
    try expect(try await phone.state(.ended, of: push.call).reason == .hangup, "the end")
    await phone.softphone.disconnect()
    try expect(try await requests.get(push.call).reason == .hangup, "the call after its end")
}

/// Declines from the lock screen: the app may be suspended before its socket is open.
func declines(_ server: String, _ payload: String) async throws {
    let (push, token) = try incomingPush(payload)
    let requests = try CallRequests(server: server, token: token)
    try expect(try await requests.ringing(push.call).state == .ringing, "ringing")
    try expect(
        try await requests.decline(push.call) == CallStanding(state: .ended, reason: .declined), "the decline")
    do {
        try await requests.answer(push.call, sdp: .text("answer"))
        throw Unexpected(what: "a declined call was answered")
    } catch SoftphoneError.refused(let error) {
        try expect(error.code == .callEnded(.declined), "\(error)")
    }
}

do {
    let arguments = Array(CommandLine.arguments.dropFirst())
    switch (arguments.dropFirst().first, arguments.count) {
    case ("call", 4): try await call(arguments[0], arguments[2], arguments[3])
    case ("woken", 4):
        guard let device = DeviceID(arguments[3]) else { throw Unexpected(what: "a UUID of the device") }
        try await woken(arguments[0], arguments[2], device)
    case ("declines", 3): try await declines(arguments[0], arguments[2])
    default: throw Unexpected(what: "arguments: URL call|woken|declines …")
    }
} catch {
    FileHandle.standardError.write(Data("example-phone: \(error)\n".utf8))
    exit(1)
}
