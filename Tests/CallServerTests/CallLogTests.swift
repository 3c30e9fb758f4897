import CallCore
import CallMonitor
import CallVocabulary
import Foundation
import Glibc
import LogCapture
import Logging
import Testing

@testable import AdminServer
@testable import CallServer
@testable import ServerLog

@Suite("Log lines of transitions")
struct CallLogTests {
    private static let start = Instant(milliseconds: 1_000_000)
    private static let callID = CallID(high: 0x11, low: 0x22)
    private static let bobs = DeviceKey(user: Handle("bob")!, device: DeviceID(high: 1, low: 2))
    private static let device = "00000000-0000-0001-0000-000000000002"
    private static let call = "call_id=00000000-0000-0011-0000-000000000022"

    private static func lines(_ transition: Transition, _ level: Logger.Level = .trace) -> [String] {
        let lines = LogLines()
        CallLog(log: lines.logger(level)).write(transition)
        return lines.take()
    }

    /// What a server's log writes, at most 4,096 bytes.
    private static func written(_ shape: LogLayout.Shape, _ body: (CallLog) -> Void) throws -> String {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        let log = ServerLog(
            levels: LogLevels(.trace), writer: try LogWriter(descriptor: ends[1], layout: LogLayout(shape)))
        let lines = CallLog(log: log.logger("test"))
        body(lines)
        lines.flush()
        #expect(log.flush(within: .seconds(40)))
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = read(ends[0], &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }

    private static func call(_ state: CallState, _ change: (inout CallRecord) -> Void = { _ in }) -> CallRecord {
        var record = CallRecord(
            id: callID, caller: Party(user: Handle("alice")!, device: bobs.device), callerName: "Alice",
            to: .user(Handle("bob")!), video: false, inviteDigest: 7, state: state, createdAt: start,
            ringsUntil: start + .seconds(45))
        change(&record)
        return record
    }

    @Test("a call's line has its id, caller and callee, the previous state and the time since the invite")
    func calls() {
        let head = "\(Self.call) from=alice"
        let steps: [(CallRecord, CallState?, String)] = [
            (Self.call(.routing), nil, "info call routing \(head) ms=0 to=bob"),
            (Self.call(.routing) { $0.video = true }, nil, "info call routing \(head) ms=0 to=bob video=true"),
            (Self.call(.waking), .routing, "info call waking \(head) to=bob was=routing"),
            (
                Self.call(.ringing) { $0.ringingAt = Self.start + .milliseconds(1763) }, .waking,
                "info call ringing \(head) ms=1763 to=bob was=waking"
            ),
            (
                Self.call(.answered) {
                    $0.answeredAt = Self.start + .seconds(4)
                    $0.answeredBy = Party(user: Handle("bob")!, device: Self.bobs.device)
                }, .ringing,
                "info call answered by=bob/\(Self.device) \(head) ms=4000 to=bob was=ringing"
            ),
            (
                Self.call(.connected) { $0.connectedAt = Self.start + .seconds(5) }, .answered,
                "info call connected \(head) ms=5000 to=bob was=answered"
            ),
        ]
        for (record, was, line) in steps { #expect(Self.lines(.call(record, was: was)) == [line]) }
    }

    @Test(
        "users with any characters appear unchanged beside their device",
        arguments: ["bob-7_x.y/z", "bo\"b", "bøb", "b@b", "b\\b"])
    func parties(user: String) throws {
        let answered = Self.call(.answered) {
            $0.answeredAt = Self.start
            $0.answeredBy = Party(user: Handle(user)!, device: Self.bobs.device)
        }
        let text = try Self.written(.json) { $0.write(.call(answered, was: .ringing)) }
        let line = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
        #expect(line?["by"] as? String == "\(user)/\(Self.device)")
        #expect(line?["message"] as? String == "call answered")
    }

    @Test("on a terminal each step is a sentence with the elapsed time and the id's first digits")
    func sentences() throws {
        let bob = Party(user: Handle("bob")!, device: DeviceID(high: 0x7d01_c5aa_0000_4000, low: 2))
        let ended = Self.call(.ended) {
            $0.ringingAt = Self.start + .milliseconds(36)
            ($0.answeredAt, $0.answeredBy) = (Self.start + .milliseconds(2036), bob)
            $0.connectedAt = Self.start + .milliseconds(2100)
            ($0.endedAt, $0.endReason, $0.endedBy) = (Self.start + .milliseconds(39_650), .hangup, bob)
        }
        var answered = ended
        (answered.state, answered.endedAt, answered.endReason) = (.answered, nil, nil)
        var leg = LegRecord(
            call: Self.callID, device: Self.bobs, push: PushID(high: 1, low: 1), state: .ended, createdAt: Self.start)
        (leg.endedAt, leg.endReason) = (Self.start + .milliseconds(5), .answeredElsewhere)
        var push = PushRecord(
            id: PushID(high: 1, low: 1), call: Self.callID, device: Self.bobs,
            token: PushToken(provider: .apns, kind: .voip, environment: .production, topic: "a.voip", token: "ab"),
            intendedAt: Self.start, expiresAt: Self.start)
        (push.status, push.reason, push.answeredAt) = (.rejected, "BadDeviceToken", Self.start + .milliseconds(41))
        let text = try Self.written(.text(colour: false)) { lines in
            lines.write(.call(Self.call(.waking), was: .routing))
            lines.write(.call(answered, was: .ringing))
            lines.write(.call(ended, was: .connected))
            lines.write(.call(Self.call(.ended) { $0.endReason = .admin }, was: .ringing)) { _ in "uid 0" }
            lines.write(.leg(leg, was: .ringing))
            lines.write(.push(push, was: PushStanding(status: .sent, report: nil)))
        }
        #expect(
            text.split(separator: "\n").map { $0.split(separator: " ", maxSplits: 2).last.map(String.init) ?? "" } == [
                "info     alice → bob waking [00000000]",
                "info     alice → bob answered by bob/7d01c5aa +2036 ms [00000000]",
                "info     alice → bob ended (hangup by bob/7d01c5aa, rang 2000 ms, talked 37.5 s) +39.6 s [00000000]",
                "info     alice → bob ended (admin by uid 0) [00000000]",
                "debug    bob/00000000 ended (answered_elsewhere) +5 ms [00000000]",
                "warning  push to bob/00000000 rejected (BadDeviceToken) +41 ms [00000000]",
            ])
    }

    @Test("the line of a call's end has the reason, who ended it, and the durations of ringing and talking")
    func endings() {
        let talked = Self.call(.ended) {
            $0.ringingAt = Self.start + .seconds(1)
            $0.answeredAt = Self.start + .seconds(4)
            $0.answeredBy = Party(user: Handle("bob")!)
            $0.connectedAt = Self.start + .seconds(5)
            $0.endedAt = Self.start + .seconds(65)
            $0.endReason = .hangup
            $0.endedBy = Party(user: Handle("alice")!)
        }
        #expect(
            Self.lines(.call(talked, was: .connected)) == [
                "info call ended answered_by=bob by=alice \(Self.call) from=alice ms=65000 reason=hangup ring_ms=3000 "
                    + "talk_ms=60000 to=bob was=connected"
            ])
        let alone = Self.call(.ended) {
            $0.to = .users((0..<7).map { Handle("user\($0)")! })
            $0.endedAt = Self.start
            $0.endReason = .noDevices
        }
        #expect(
            Self.lines(.call(alone, was: nil)) == [
                "info call ended \(Self.call) from=alice ms=0 reason=no_devices "
                    + "to=user0, user1, user2, user3, user4 and 2 more"
            ])
        let merged = Self.call(.ended) {
            $0.to = .group("sales")
            $0.ringingAt = Self.start
            $0.endedAt = Self.start + .milliseconds(20)
            $0.endReason = .glare
            $0.mergedInto = CallID(high: 0, low: 1)
        }
        #expect(
            Self.lines(.call(merged, was: .ringing)) == [
                "info call ended \(Self.call) from=alice merged_into=00000000-0000-0000-0000-000000000001 ms=20 "
                    + "reason=glare ring_ms=20 to=group sales was=ringing"
            ])
    }

    @Test("a leg's line has level debug")
    func legs() {
        var leg = LegRecord(
            call: Self.callID, device: Self.bobs, push: PushID(high: 0, low: 3), state: .waking, createdAt: Self.start)
        let tail = "\(Self.call) device_id=\(Self.device)"
        #expect(Self.lines(.leg(leg, was: nil)) == ["debug leg waking \(tail) user=bob"])
        leg.state = .ended
        leg.endedAt = Self.start + .seconds(2)
        leg.endReason = .answeredElsewhere
        #expect(
            Self.lines(.leg(leg, was: .waking))
                == ["debug leg ended \(tail) ms=2000 reason=answered_elsewhere user=bob was=waking"])
        // An earlier step that arrived in the same record as the end.
        leg.state = .idle
        #expect(Self.lines(.leg(leg, was: nil)) == ["debug leg idle \(tail) ms=0 user=bob"])
    }

    private static func push(_ status: ProviderStatus, _ report: ReportStatus?) -> PushRecord {
        var push = PushRecord(
            id: PushID(high: 0, low: 3), call: callID, device: bobs,
            token: PushToken(
                provider: .apns, kind: .voip, environment: .production, topic: "t.voip", token: "0123456789abcdef"),
            intendedAt: start, expiresAt: start + .seconds(45))
        push.status = status
        push.report = report
        if status != .intended { push.sentAt = start + .milliseconds(5) }
        if status == .accepted || status == .rejected || status == .unknown {
            push.answeredAt = start + .milliseconds(95)
        }
        if report != nil, report != .awaited { push.reportedAt = start + .milliseconds(900) }
        return push
    }

    @Test(
        "a push's line has the change, and a level that matches its importance",
        arguments: [
            (ProviderStatus.intended, ReportStatus?.none, PushStanding?.none, "debug push intended|"),
            (.sent, .awaited, PushStanding(status: .intended, report: nil), "debug push sent| ms=5"),
            (.sent, .notRequired, PushStanding(status: .intended, report: nil), "debug push sent| ms=5"),
            (.accepted, .awaited, PushStanding(status: .sent, report: .awaited), "debug push accepted| ms=95"),
            (.accepted, .reported, PushStanding(status: .accepted, report: .awaited), "debug push reported| ms=900"),
            (
                .accepted, .reported, PushStanding(status: .sent, report: .awaited),
                "debug push accepted, reported| ms=900"
            ),
            (.accepted, .filtered, PushStanding(status: .accepted, report: .awaited), "debug push filtered| ms=900"),
            (.cancelled, nil, PushStanding(status: .intended, report: nil), "debug push cancelled| ms=5"),
            (.expired, nil, PushStanding(status: .intended, report: nil), "notice push expired| ms=5"),
            (.rejected, nil, PushStanding(status: .sent, report: .awaited), "warning push rejected| ms=95"),
            (.unknown, .awaited, PushStanding(status: .sent, report: .awaited), "warning push unknown| ms=95"),
            (
                .accepted, .unreported, PushStanding(status: .accepted, report: .awaited),
                "warning push unreported| ms=900"
            ),
            (
                .accepted, .reportFailed, PushStanding(status: .sent, report: .awaited),
                "warning push accepted, report failed| ms=900"
            ),
            (
                .accepted, .reportedLate, PushStanding(status: .accepted, report: .unreported),
                "notice push reported late| ms=900"
            ),
        ])
    func pushes(status: ProviderStatus, report: ReportStatus?, was: PushStanding?, line: String) {
        let parts = line.split(separator: "|", omittingEmptySubsequences: false)
        let expected =
            "\(parts[0]) \(Self.call) device_id=\(Self.device) kind=apns_voip\(parts[1]) "
            + "push_id=00000000-0000-0000-0000-000000000003 user=bob"
        #expect(Self.lines(.push(Self.push(status, report), was: was)) == [expected])
    }

    @Test("the texts of provider and device are in the line, and the token is not")
    func words() {
        var push = Self.push(.rejected, nil)
        push.reason = "BadDeviceToken"
        push.reportError = "CXErrorCodeIncomingCallError 3"
        push.purpose = .missedCall
        let line = Self.lines(.push(push, was: PushStanding(status: .sent, report: nil)))[0]
        #expect(line.contains(" reason=BadDeviceToken ") && line.contains(" purpose=missed_call "))
        #expect(line.contains(" report_error=CXErrorCodeIncomingCallError 3 "))
        #expect(!line.contains("01234567"))
    }

    @Test("an unchanged push has no line")
    func unchanged() {
        let push = Self.push(.accepted, .awaited)
        #expect(Self.lines(.push(push, was: PushStanding(status: .accepted, report: .awaited))) == [])
        #expect(Self.lines(.push(push, was: PushStanding(status: .accepted, report: nil))) == [])
    }

    @Test("a device's suspension and resumption have level notice")
    func devices() {
        let device = DeviceRecord(
            key: Self.bobs, platform: .ios, app: nil, name: nil, tokens: [], seenAt: Self.start, unreportedStreak: 3,
            suspendedAt: Self.start)
        let tail = "device_id=\(Self.device) platform=ios unreported=3 user=bob"
        #expect(Self.lines(.deviceSuspended(device), .notice) == ["notice device suspended \(tail)"])
        #expect(Self.lines(.deviceResumed(device), .notice) == ["notice device resumed \(tail)"])
        #expect(Self.lines(.deviceSuspended(device), .warning) == [])
    }

    @Test("levels filter: at info only calls, at warning only problems")
    func levels() {
        let transitions: [Transition] = [
            .call(Self.call(.routing), was: nil), .push(Self.push(.intended, nil), was: nil),
            .push(Self.push(.rejected, nil), was: PushStanding(status: .sent, report: .awaited)),
        ]
        func count(_ level: Logger.Level) -> Int { transitions.reduce(0) { $0 + Self.lines($1, level).count } }
        #expect(count(.debug) == 3)
        #expect(count(.info) == 2)
        #expect(count(.warning) == 1)
        #expect(count(.error) == 0)
    }
}
