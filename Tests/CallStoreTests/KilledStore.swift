import CallCore
import CallVocabulary
import Foundation
import GRDB

@testable import CallStore

/// What the server of each released journal format was killed with, in `Fixtures`: the tables after ``inTables``, and a
/// journal that holds the last of it and ``inJournal``.
enum KilledStore {
    private static func key(_ user: String, _ device: UInt64) -> DeviceKey {
        DeviceKey(user: handle(user), device: DeviceID(high: 2, low: device))
    }

    private static func call(_ id: UInt64, to user: String = "bob", _ state: CallState, at time: Int64) -> CallRecord {
        var call = CallRecord(
            id: CallID(high: 1, low: id), caller: Party(user: handle("alice"), device: DeviceID(high: 2, low: 9)),
            callerName: "Alice “A” \\ Example", to: .user(handle(user)), video: id == 1, inviteDigest: .max - id,
            state: state, createdAt: at(time), ringsUntil: at(time + 45_000))
        if state != .routing { call.ringingAt = at(time + 10) }
        if state == .answered || state == .connected {
            call.answeredAt = at(time + 20)
            call.answeredBy = Party(user: handle(user), device: DeviceID(high: 2, low: 1))
            call.connectsUntil = at(time + 30_020)
        }
        if state == .connected { call.connectedAt = at(time + 30) }
        if state == .ended {
            call.endedAt = at(time + 40)
            call.endReason = .ringTimeout
        }
        return call
    }

    private static func leg(_ call: CallRecord, _ user: String, _ state: LegRecord.State) -> LegRecord {
        var leg = LegRecord(
            call: call.id, device: key(user, 1), push: PushID(high: 3, low: call.id.low), state: state,
            createdAt: call.createdAt)
        if state == .answered { leg.answeredAt = call.answeredAt }
        if state == .ended { (leg.endedAt, leg.endReason) = (call.endedAt, .ringTimeout) }
        return leg
    }

    private static func push(_ leg: LegRecord, _ report: ReportStatus?) -> PushRecord {
        var push = PushRecord(
            id: leg.push, call: leg.call, device: leg.device, token: .sample("a1"), intendedAt: leg.createdAt,
            expiresAt: leg.createdAt + .seconds(45))
        guard let report else { return push }
        (push.status, push.report) = (.accepted, report)
        (push.sentAt, push.answeredAt) = (leg.createdAt + .milliseconds(1), leg.createdAt + .milliseconds(2))
        if report == .awaited { push.reportDueAt = leg.createdAt + .seconds(45) }
        return push
    }

    private static func json(_ text: String) -> RawJSON { RawJSON(bytes: Array(text.utf8)) }

    static let offerText = json(#"{"sdp":"v=0\r\no=- 1"}"#)
    static let answerText = json(#""v=0 answer""#)
    static let customText = json(#"{"room":"é📞"}"#)

    // The calls as they are in the tables, and as the journal leaves them.
    static let ringing = call(1, .ringing, at: 1000)
    static let ringingThenAnswered = call(1, .answered, at: 1000)
    static let answered = call(2, .answered, at: 2000)
    static let answeredThenConnected = call(2, .connected, at: 2000)
    static let stillAnswered = call(3, to: "carol", .answered, at: 3000)
    static let over = call(4, to: "carol", .ended, at: 4000)
    static let new = call(5, to: "dave", .routing, at: 5000)
    /// Forwarded from a user to a group, and told how long it may last.
    static let forwarded: CallRecord = {
        var call = KilledStore.call(6, .ringing, at: 6000)
        call.members = [handle("bob"), handle("dave")]
        call.hunt = CallRecord.HuntProgress(rung: 2, nextAt: nil)
        call.huntSteps = [nil, .milliseconds(0)]
        call.forwards = [CallRecord.Forward(reason: .busy, to: .group("desk"), at: at(6005), firstMember: 1)]
        (call.ringTime, call.maxDuration) = (.milliseconds(45_000), .milliseconds(3_600_000))
        return call
    }()

    static func device(_ user: String, tokens: [String]) -> DeviceRecord {
        DeviceRecord(
            key: key(user, 1), platform: .ios, app: "org.example.phone 4.2", name: nil,
            tokens: tokens.enumerated().map { DeviceRecord.Token(token: .sample($1), registeredAt: at(Int64($0))) },
            seenAt: at(9), unreportedStreak: 2, suspendedAt: tokens.isEmpty ? at(8) : nil)
    }

    static func missed(_ call: CallRecord, at time: Int64) -> MissedCall {
        MissedCall(call: call.id, from: handle("alice"), at: at(time), reason: .ringTimeout, video: false)
    }

    static let candidates = CandidateRecord(
        call: ringing.id, device: nil, candidates: [json(#"{"a":1}"#), json(#"{"b":2}"#)], isFinal: false)
    static let newCandidates = CandidateRecord(
        call: new.id, device: key("dave", 1), candidates: [json(#"{"c":3}"#)], isFinal: true)

    static let ringingLeg = leg(ringing, "bob", .ringing)
    static let ringingLegThenAnswered = leg(ringingThenAnswered, "bob", .answered)
    static let answeredLeg = leg(answered, "bob", .answered)
    static let stillAnsweredLeg = leg(stillAnswered, "carol", .answered)
    static let overLeg = leg(over, "carol", .ended)
    static let newLeg = leg(new, "dave", .waking)
    static let ringingPush = push(ringingLeg, .awaited)
    static let ringingPushThenReported = push(ringingLegThenAnswered, .reported)
    static let overPush = push(overLeg, .unreported)
    static let newPush = push(newLeg, nil)

    static let group = CallGroup(name: "sales", strategy: .hunt, members: [handle("bob"), handle("carol")])
    static let newGroup = CallGroup(name: "desk", strategy: .all, members: [handle("dave")])
    static let delayedGroup = CallGroup(
        name: "late", strategy: .all, members: [handle("dave"), handle("erin")], delays: [handle("erin"): .seconds(9)])
    static let rules = RulesRecord(
        handle: handle("bob"),
        rules: CallRules(
            blocked: [handle("mallory")], forwardBusy: .group("desk"), forwardNoAnswer: .user(handle("carol")),
            noAnswerAfter: .seconds(20)))
    static let revocation = RevocationRecord(handle: handle("carol"), issuedBefore: at(4100))
    static let event = EventRecord(
        id: EventID(high: 5, low: 1), at: at(5000), subject: .call(new, number: 1, .invited(custom: nil)))
    static let deviceEvent = EventRecord(
        id: EventID(high: 5, low: 2), at: at(5001), subject: .device(device("dave", tokens: []), .suspended))
    static let alias = Alias(handle: handle("+81312345678"), user: handle("bob"))
    static let newAlias = Alias(handle: handle("reception"), user: handle("carol"))

    /// To the device of carol with that number.
    static func notice(_ id: UInt64) -> PushRecord {
        PushRecord(
            id: PushID(high: 4, low: id), purpose: .missedCall, call: over.id, device: key("carol", id),
            token: .sample("c1", kind: .alert), intendedAt: at(4100), expiresAt: at(3_600_000))
    }
}

// MARK: The records of this version

extension KilledStore {
    static let versions = ["v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14"]

    static let absence = AbsenceRecord(call: answered.id, role: .callee, lostAt: at(2500), returnedAt: nil)
    static let absenceThenBack = AbsenceRecord(call: answered.id, role: .callee, lostAt: at(2500), returnedAt: at(2600))

    static let inTables: [StoreRecord] = [
        .device(device("bob", tokens: ["b1", "b2"])), .device(device("carol", tokens: ["c1"])),
        .call(ringing), .leg(ringingLeg), .push(ringingPush),
        .descriptions(DescriptionsRecord(call: ringing.id, offer: offerText, custom: customText)),
        .candidates(candidates),
        .call(answered), .leg(answeredLeg), .descriptions(DescriptionsRecord(call: answered.id, answer: answerText)),
        .group(group), .alias(alias), .user(.full()),
        .call(forwarded), .rules(RulesRecord(handle: handle("bob"), rules: CallRules())),
    ]

    static let lastInTables: [StoreRecord] = [
        .call(stillAnswered), .leg(stillAnsweredLeg),
        .descriptions(DescriptionsRecord(call: stillAnswered.id, answer: answerText)),
        .call(over), .leg(overLeg), .push(overPush), .missed(user: handle("carol"), missed(over, at: 4040)),
        .push(notice(1)), .event(event),
    ]

    static let inJournal: [[StoreRecord]] = [
        [
            .leg(newLeg), .call(new), .push(newPush),
            .descriptions(DescriptionsRecord(call: new.id, offer: offerText)), .candidates(newCandidates),
            .call(ringingThenAnswered), .leg(ringingLegThenAnswered), .push(ringingPushThenReported),
            .descriptions(DescriptionsRecord(call: ringing.id, answer: answerText)),
            .device(device("bob", tokens: ["b2"])), .deviceDropped(device("carol", tokens: []).key),
        ],
        [
            .call(answeredThenConnected), .descriptionsDropped(answered.id), .candidatesDropped(ringing.id),
            .device(device("dave", tokens: [])), .missedCleared(user: handle("carol"), upTo: at(4040)),
            .missed(user: handle("bob"), missed(over, at: 4050)),
            .groupDeleted("sales"), .group(newGroup), .aliasDeleted(alias.handle), .alias(newAlias),
            .user(.full("carol")), .push(notice(2)), .rules(rules), .group(delayedGroup), .revocation(revocation),
            .event(deviceEvent),
        ],
    ]

    /// What is not over when the journal of a version is settled.
    static func expected(_ version: String) -> WholeState {
        var state = WholeState()
        state.devices = [device("bob", tokens: ["b2"]), device("dave", tokens: [])]
        state.calls = [ringingThenAnswered, answeredThenConnected, stillAnswered, new]
        state.legs = [ringingLegThenAnswered, answeredLeg, stillAnsweredLeg, newLeg]
        state.pushes = [ringingPushThenReported, newPush]
        state.notices = [notice(1), notice(2)].map {
            RecoveredState.Notice(push: $0, from: handle("alice"), fromName: over.callerName, video: over.video)
        }
        state.descriptions = [
            DescriptionsRecord(call: ringing.id, answer: answerText),
            DescriptionsRecord(call: stillAnswered.id, answer: answerText),
            DescriptionsRecord(call: new.id, offer: offerText),
        ]
        state.missed = [WholeState.Missed(user: handle("bob"), call: missed(over, at: 4050))]
        state.candidates = [newCandidates]
        state.groups = [newGroup]
        state.users = [.full("bob"), .full("carol")]
        state.aliases = [newAlias]
        guard ["v11", "v12", "v13", "v14"].contains(version) else { return state }
        state.calls.insert(forwarded, at: 2)
        state.groups.append(delayedGroup)
        state.rules = [rules]
        if version != "v11" { state.revocations = [revocation] }
        return state
    }

    /// A folder with the files of a server of `version` that was killed.
    static func folder(_ version: String) throws -> TemporaryFolder {
        let text = try String(contentsOf: file(version), encoding: .utf8)
        let parts = text.components(separatedBy: "-- journal\n")
        let folder = try TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: false)
        for (part, path) in zip(parts, [folder.database, StoreFolder.journal(of: folder.database)]) {
            var configuration = Configuration()
            configuration.prepareDatabase { try $0.execute(sql: "PRAGMA journal_mode = WAL") }
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            try queue.write { try $0.execute(sql: part) }
            try queue.close()
        }
        return folder
    }

    static func file(_ version: String) -> URL {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Fixtures")
        return folder.appendingPathComponent("killed-\(version).sql")
    }

    /// The files of a server of this version that was killed, as SQL.
    static func dump() throws -> String {
        let (folder, killed) = (try TemporaryFolder(), try TemporaryFolder())
        try FileManager.default.createDirectory(atPath: killed.path, withIntermediateDirectories: false)
        try CallStore.open(folder: folder.path).close()
        let made = try StoreConnection.open(folder.database, Configuration())
        try made.write { try $0.execute(sql: "UPDATE settled SET store = x'0102030405060708090a0b0c0d0e0f10'") }
        try made.close()
        let store = try CallStore.open(folder: folder.path)
        try store.commit(inTables)
        try store.commitBehind(batches: [lastInTables])
        // The entry stays in the journal until the next one comes.
        try store.catchUp()
        for batch in inJournal { try store.commitBehind(batches: [batch]) }
        try folder.copyStore(to: killed.path)
        store.close()
        // Read back it has no logs, which a server would miss.
        let closed = try DatabaseQueue(path: killed.database)
        try closed.write { try SettledCommits.noteClosed($0) }
        try closed.close()
        return try dump(killed.database) + "-- journal\n" + dump(StoreFolder.journal(of: killed.database))
    }

    private static func dump(_ path: String) throws -> String {
        let queue = try DatabaseQueue(path: path)
        defer { try? queue.close() }
        return try queue.read { database in
            var (tables, rest): ([String], [String]) = ([], [])
            let schema = try Row.fetchAll(
                database,
                sql: """
                    SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'
                    ORDER BY rowid
                    """)
            for row in schema {
                let (type, name, sql): (String, String, String) = (row["type"], row["name"], row["sql"])
                guard type == "table" else {
                    rest.append(sql + ";")
                    continue
                }
                tables.append(sql + ";")
                let columns = try database.columns(in: name).map(\.name)
                let values = columns.map { "quote(\($0))" }.joined(separator: " || ', ' || ")
                for text in try String.fetchAll(database, sql: "SELECT \(values) FROM \(name)") {
                    tables.append("INSERT INTO \(name) (\(columns.joined(separator: ", "))) VALUES (\(text));")
                }
            }
            return (tables + rest).joined(separator: "\n") + "\n"
        }
    }
}
