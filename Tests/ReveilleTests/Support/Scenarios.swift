import CallCore
import CallStore
import CallVocabulary
import Foundation

/// Calls as they end in practice, with ids and times that are always the same.
enum Scenarios {
    /// 2026-09-18T00:00:00Z.
    static let begin = Instant(milliseconds: 1_789_689_600_000)

    /// A folder with a store of them all, removed with the value.
    final class Folder {
        let path = NSTemporaryDirectory() + "scenarios-\(UUID().uuidString)"

        init(_ records: [StoreRecord] = Scenarios.all) throws {
            let store = try CallStore.open(folder: path)
            _ = try store.commit(records)
            store.close()
        }

        deinit { try? FileManager.default.removeItem(atPath: path) }
    }

    static var all: [StoreRecord] {
        devices
            + [
                answeredOnline, wokenAndAnswered, declined, cancelledBeforePush, unreported, rejected, glare, group,
                noDevices, ringing, mediaNeverCame,
            ].flatMap(\.records)
    }

    /// The digits that each call's id begins with.
    static let ids = [
        "answered-online": "0b9c8e4e", "woken": "1c2d3e4f", "declined": "2d4e6f80", "cancelled": "3e5f7a9b",
        "unreported": "4f60718a", "rejected": "5a6b7c8d", "glare": "6b7c8d9e", "group": "7c8d9eaf",
        "no-devices": "8d9eafb0", "ringing": "9eafb0c1", "no-media": "9eafb0c2",
    ]

    // MARK: Ids

    static func handle(_ text: String) -> Handle {
        // Also one that a server of before has taken.
        Handle(known: text)!
    }

    static func id<Subject>(_ digits: UInt64) -> Identifier<Subject> {
        Identifier(high: digits << 32 | 0x6F2A_4D0B, low: 0x9E55_3A1F_8A1C_2D3E)
    }

    static let phone: DeviceKey = DeviceKey(user: handle("bob"), device: id(0xB0B0_0001))
    static let tablet = DeviceKey(user: handle("bob"), device: id(0xB0B0_0002))
    static let carolsPhone = DeviceKey(user: handle("carol"), device: id(0xCA50_0001))
    static let alice = Party(user: handle("alice"), device: id(0xA11C_E001))

    static let token = PushToken(
        provider: .apns, kind: .voip, environment: .sandbox, topic: "org.example.phone.voip", token: "9f8e7d6c5b4a")

    private static var devices: [StoreRecord] {
        [
            .device(
                DeviceRecord(
                    key: phone, platform: .ios, app: "org.example.phone 4.2", name: "Bob’s iPhone",
                    tokens: [.init(token: token, registeredAt: begin + .seconds(-86_400))],
                    seenAt: begin + .seconds(-60), unreportedStreak: 3, suspendedAt: begin + .seconds(600))),
            .device(
                DeviceRecord(
                    key: tablet, platform: .android, app: nil, name: nil, tokens: [], seenAt: begin,
                    unreportedStreak: 0, suspendedAt: nil)),
        ]
    }

    // MARK: Calls

    /// A call being put together: times are milliseconds since its invite.
    struct Draft {
        var call: CallRecord
        var legs: [LegRecord] = []
        var pushes: [PushRecord] = []

        init(
            _ name: String, minute: Int64, from caller: Party = Scenarios.alice,
            to target: CallTarget = .user(handle("bob"))
        ) {
            // Every name has digits.
            let digits = UInt64(Scenarios.ids[name]!, radix: 16)!
            let at = Scenarios.begin + .seconds(60 * minute)
            call = CallRecord(
                id: id(digits), caller: caller, callerName: nil, to: target, video: false, inviteDigest: 1,
                state: .routing, createdAt: at, ringsUntil: at + .seconds(45))
        }

        func at(_ milliseconds: Int64) -> Instant { call.createdAt + .milliseconds(milliseconds) }

        mutating func leg(
            _ device: DeviceKey, offered: Int64? = nil, woken: Int64? = nil, rings: Int64? = nil, answers: Int64? = nil
        ) {
            let push = PushID(high: call.id.high, low: device.device.high)
            var leg = LegRecord(call: call.id, device: device, push: push, state: .idle, createdAt: call.createdAt)
            leg.offeredAt = offered.map(at)
            leg.wokenAt = woken.map(at)
            leg.ringingAt = rings.map(at)
            leg.answeredAt = answers.map(at)
            leg.state = rings == nil ? .offered : .ringing
            legs.append(leg)
            if let rings, call.ringingAt == nil { call.ringingAt = at(rings) }
            if let answers {
                call.answeredAt = at(answers)
                call.answeredBy = Party(user: device.user, device: device.device)
            }
        }

        /// The push of the leg made last.
        mutating func push(
            _ status: ProviderStatus, reason: String? = nil, answered: Int64, report: ReportStatus? = nil,
            reported: Int64? = nil
        ) {
            // There is one in each of the calls that push.
            let leg = legs.last!
            var push = PushRecord(
                id: leg.push, call: call.id, device: leg.device, token: Scenarios.token, intendedAt: at(4),
                expiresAt: call.ringsUntil)
            push.status = status
            push.reason = reason
            push.sentAt = status == .cancelled || status == .expired ? nil : at(6)
            push.answeredAt = at(answered)
            push.report = report
            push.reportedAt = reported.map(at)
            pushes.append(push)
        }

        mutating func connect(caller: Int64, callee: Int64) {
            call.callerConnectedAt = at(caller)
            call.calleeConnectedAt = at(callee)
            call.connectedAt = at(max(caller, callee))
        }

        mutating func end(_ reason: EndReason, at end: Int64, by party: Party? = nil) {
            call.state = .ended
            call.endReason = reason
            call.endedAt = at(end)
            call.endedBy = party
            for index in legs.indices {
                legs[index].state = .ended
                let isElsewhere = call.answeredAt != nil && legs[index].answeredAt == nil
                legs[index].endedAt = isElsewhere ? call.answeredAt : at(end)
                legs[index].endReason = isElsewhere ? .answeredElsewhere : reason
            }
        }

        var records: [StoreRecord] { [.call(call)] + legs.map { .leg($0) } + pushes.map { .push($0) } }
    }

    private static func draft(_ draft: Draft, _ change: (inout Draft) -> Void) -> Draft {
        var draft = draft
        change(&draft)
        return draft
    }

    static let answeredOnline = draft(Draft("answered-online", minute: 0)) {
        $0.leg(phone, offered: 8, rings: 120, answers: 5200)
        $0.connect(caller: 5410, callee: 5530)
        $0.end(.hangup, at: 190_530, by: alice)
    }

    static let wokenAndAnswered = draft(Draft("woken", minute: 1)) {
        $0.call.callerName = "Alice A."
        $0.call.video = true
        $0.leg(phone, offered: 1490, woken: 1480, rings: 1510, answers: 8200)
        $0.push(.accepted, answered: 61, report: .reported, reported: 702)
        $0.connect(caller: 8600, callee: 8450)
        $0.end(.hangup, at: 68_600, by: Party(user: phone.user, device: phone.device))
    }

    static let declined = draft(Draft("declined", minute: 2)) {
        $0.leg(phone, offered: 7, rings: 95)
        $0.end(.declined, at: 3100, by: Party(user: phone.user, device: phone.device))
    }

    static let cancelledBeforePush = draft(Draft("cancelled", minute: 3)) {
        $0.leg(phone)
        $0.push(.cancelled, answered: 900)
        $0.end(.cancelled, at: 900, by: alice)
    }

    static let unreported = draft(Draft("unreported", minute: 4)) {
        $0.leg(phone)
        $0.push(.accepted, answered: 58, report: .unreported, reported: 15_058)
        $0.end(.ringTimeout, at: 45_000)
        // Who missed it is told.
        var notice = PushRecord(
            id: id(0xFEED_0001), purpose: .missedCall, call: $0.call.id, device: phone,
            token: PushToken(
                provider: .apns, kind: .alert, environment: .sandbox, topic: "org.example.phone", token: "77665544"),
            intendedAt: $0.at(45_002), expiresAt: $0.at(3_645_002))
        notice.status = .accepted
        notice.report = .notRequired
        notice.sentAt = $0.at(45_005)
        notice.answeredAt = $0.at(45_060)
        $0.pushes.append(notice)
    }

    static let rejected = draft(Draft("rejected", minute: 5)) {
        $0.leg(phone)
        $0.push(.rejected, reason: "BadDeviceToken", answered: 64)
        $0.end(.noDevices, at: 66)
    }

    static let glare = draft(Draft("glare", minute: 6)) {
        $0.leg(phone, offered: 5)
        $0.call.mergedInto = id(0x0B9C_8E4E)
        $0.end(.glare, at: 11)
    }

    static let group = draft(Draft("group", minute: 7, to: .group("sales"))) {
        $0.call.members = [handle("bob"), handle("carol")]
        $0.leg(phone, offered: 9, rings: 130)
        $0.leg(carolsPhone, offered: 10, rings: 240, answers: 4000)
        $0.connect(caller: 4300, callee: 4200)
        $0.end(.hangup, at: 24_300, by: alice)
    }

    /// Names that a terminal must not take at their word: one turns the line around, one is two columns wide a letter.
    static let noDevices = draft(
        Draft(
            "no-devices", minute: 8, from: Party(user: handle("ev\u{202E}il"), device: id(0xE711_0001)),
            to: .user(handle("鈴木一郎")))
    ) {
        $0.end(.noDevices, at: 2)
    }

    /// Twelve seconds before ``CommandRun/now``.
    static let ringing = draft(Draft("ringing", minute: 60)) {
        let invitedAt = begin + .seconds(3588)
        $0.call.createdAt = invitedAt
        $0.call.ringsUntil = invitedAt + .seconds(45)
        $0.leg(phone, offered: 1490, woken: 1480, rings: 1510)
        $0.push(.accepted, answered: 61, report: .reported, reported: 702)
        $0.call.state = .ringing
    }

    /// Its id begins as that of the call before.
    static let mediaNeverCame = draft(Draft("no-media", minute: 10)) {
        $0.leg(phone, offered: 8, rings: 120, answers: 2000)
        $0.call.callerConnectedAt = $0.at(2300)
        $0.end(.connectTimeout, at: 32_000)
    }
}
