import CallCore
import CallVocabulary
import Foundation
import GRDB
import RecordTables
import StoreInterface
import Synchronization
import Testing

@testable import CallStore

/// What a store of the first version holds, and the SQL that its server would have written it with.
private struct FirstVersion {
    let device: DeviceRecord
    let group: CallRecord
    let named: CallRecord
    let over: CallRecord
    let leg: LegRecord
    let push: PushRecord
    let offer: DescriptionsRecord
    let missed: MissedCall

    init() {
        var device = DeviceRecord.full(user: "bob")
        device.tokens.removeLast()
        // What later versions had first.
        (device.probes, device.nextProbeAt) = (0, nil)
        var group = CallRecord.full()
        group.to = .group("sales")
        group.lostAt = nil
        (group.huntSteps, group.forwards, group.ringTime, group.maxDuration) = ([], [], nil, nil)
        var over = CallRecord.ended(from: "dave", to: .user(handle("carol")), createdAt: at(5), reason: .declined)
        (group.members, group.hunt) = (nil, nil)
        over.endedBy = Party(user: handle("carol"))
        self.device = device
        self.group = group
        self.over = over
        named = .live(from: "alice", to: .users([handle("carol"), handle("erin")]), createdAt: at(11))
        leg = .full(of: group)
        push = .full(of: leg)
        offer = DescriptionsRecord(call: group.id, offer: RawJSON(bytes: Array(#"{"sdp":"v=0"}"#.utf8)), custom: nil)
        missed = MissedCall(call: over.id, from: handle("dave"), at: at(60), reason: .declined, video: false)
    }

    private static func blob<Subject>(_ id: Identifier<Subject>) -> String {
        "x'" + id.description.replacing("-", with: "") + "'"
    }

    private static func text(_ text: String?) -> String {
        text.map { "'" + $0.replacing("'", with: "''") + "'" } ?? "NULL"
    }

    private static func time(_ instant: Instant?) -> String { instant.map { "\($0.milliseconds)" } ?? "NULL" }

    private static func party(_ party: Party?) -> String {
        "\(text(party?.user.text)), \(party?.device.map { blob($0) } ?? "NULL")"
    }

    private static func insert(_ call: CallRecord, callee: String) -> String {
        """
        INSERT INTO call (
            id, caller_user, caller_device, caller_name, callee, video, invite_digest, state, created_at, rings_until,
            ringing_at, answered_at, answered_by_user, answered_by_device, connects_until, caller_connected_at,
            callee_connected_at, connected_at, ended_at, end_reason, ended_by_user, ended_by_device, merged_into
        ) VALUES (
            \(blob(call.id)), \(party(call.caller)), \(text(call.callerName)), \(text(callee)), \(call.video),
            \(Int64(bitPattern: call.inviteDigest)), \(text(call.state.rawValue)), \(time(call.createdAt)),
            \(time(call.ringsUntil)), \(time(call.ringingAt)), \(time(call.answeredAt)), \(party(call.answeredBy)),
            \(time(call.connectsUntil)), \(time(call.callerConnectedAt)), \(time(call.calleeConnectedAt)),
            \(time(call.connectedAt)), \(time(call.endedAt)), \(text(call.endReason?.rawValue)),
            \(party(call.endedBy)), \(call.mergedInto.map { blob($0) } ?? "NULL")
        );
        """
    }

    private var insertDevice: String {
        let (user, id, token) = (Self.text("bob"), Self.blob(device.key.device), device.tokens[0])
        return """
            INSERT INTO device (user, device, platform, app, name, seen_at, unreported_streak, suspended_at) VALUES (
                \(user), \(id), 'ios', \(Self.text(device.app)), \(Self.text(device.name)),
                \(Self.time(device.seenAt)), \(device.unreportedStreak), \(Self.time(device.suspendedAt))
            );
            INSERT INTO push_token (
                user, device, position, provider, kind, environment, topic, token, registered_at
            ) VALUES (
                \(user), \(id), 0, 'apns', 'voip', 'sandbox', \(Self.text(token.token.topic)),
                \(Self.text(token.token.token)), \(Self.time(token.registeredAt))
            );
            """
    }

    private var insertPush: String {
        """
        INSERT INTO push (
            id, call, user, device, provider, kind, environment, topic, token, status, report, reason, report_error,
            intended_at, expires_at, sent_at, answered_at, reported_at, report_due_at
        ) VALUES (
            \(Self.blob(push.id)), \(Self.blob(push.call)), 'bob', \(Self.blob(push.device.device)), 'apns', 'voip',
            'sandbox', \(Self.text(push.token.topic)), \(Self.text(push.token.token)), 'accepted', 'awaited',
            \(Self.text(push.reason)), \(Self.text(push.reportError)), \(Self.time(push.intendedAt)),
            \(Self.time(push.expiresAt)), \(Self.time(push.sentAt)), \(Self.time(push.answeredAt)),
            \(Self.time(push.reportedAt)), \(Self.time(push.reportDueAt))
        );
        """
    }

    private var sql: String {
        [
            insertDevice, Self.insert(over, callee: #"{"user":"carol"}"#),
            Self.insert(group, callee: #"{"group":"sales"}"#),
            Self.insert(named, callee: #"{"users":["carol","erin"]}"#), insertPush,
            """
            INSERT INTO leg (
                call, user, device, push, state, created_at, offered_at, woken_at, ringing_at, answered_at, ended_at,
                end_reason
            ) VALUES (
                \(Self.blob(leg.call)), 'bob', \(Self.blob(leg.device.device)), \(Self.blob(leg.push)), 'ringing',
                \(Self.time(leg.createdAt)), \(Self.time(leg.offeredAt)), \(Self.time(leg.wokenAt)),
                \(Self.time(leg.ringingAt)), \(Self.time(leg.answeredAt)), \(Self.time(leg.endedAt)),
                \(Self.text(leg.endReason?.rawValue))
            );
            INSERT INTO call_offer (call, sdp, custom)
            VALUES (\(Self.blob(offer.call)), \(Self.text(offer.offer?.json)), NULL);
            INSERT INTO missed_call (user, call, caller, at, reason, video)
            VALUES ('carol', \(Self.blob(missed.call)), 'dave', \(Self.time(missed.at)), 'declined', 0);
            """,
        ].joined(separator: "\n")
    }

    /// Candidates, a group, an alias and a policy, which the second version had first.
    let secondVersion = """
        INSERT INTO call_group (name, strategy, members) VALUES ('sales', 'hunt', '["bob","carol"]');
        INSERT INTO alias (handle, user) VALUES ('desk', 'bob');
        INSERT INTO user_policy (handle, call_waiting, decline, do_not_disturb) VALUES ('bob', 0, 'device', 1);
        """

    var candidates: String {
        """
        INSERT INTO call_candidates (call, user, device, candidates, is_final)
        VALUES (\(Self.blob(group.id)), NULL, NULL, '[{"a":1},{"b":2}]', 1);
        UPDATE call SET members = '["bob","carol"]', hunt_rung = 1, hunt_next_at = \(at(77).milliseconds)
            WHERE id = \(Self.blob(group.id));
        """
    }

    /// Every field of the group's call is set, though it is live. Nothing else is wrong.
    var violations: [String] {
        ["1 calls are ended without time or reason, or have them and are not ended, first \(group.id)"]
    }

    /// Pushes about a missed call, which the third version had first.
    var notice: PushRecord {
        var record = push
        record.id = PushID(high: 7, low: 7)
        record.purpose = .missedCall
        record.call = over.id
        record.status = .intended
        record.report = nil
        record.sentAt = nil
        return record
    }

    var insertNotice: String {
        """
        UPDATE user_policy SET missed_calls = 'alert';
        INSERT INTO push SELECT NULL, \(Self.blob(notice.id)), \(Self.blob(over.id)), user, device, provider, kind,
            environment, topic, token, 'intended', NULL, reason, report_error, intended_at, expires_at, NULL,
            answered_at, reported_at, report_due_at, 'missed_call' FROM push;
        """
    }

    /// What its server wrote besides, in the tables and columns that `version` had.
    func more(of version: String) -> String {
        switch version {
        case "v1": ""
        case "v2": secondVersion + candidates
        default: secondVersion + candidates + insertNotice
        }
    }

    /// What a server of today finds in a store of `version`.
    func expected(of version: String) -> WholeState {
        var state = WholeState()
        var group = group
        state.devices = [device]
        state.legs = [leg]
        state.pushes = [push]
        state.descriptions = [offer]
        state.missed = [WholeState.Missed(user: handle("carol"), call: missed)]
        if version != "v1" {
            group.members = [handle("bob"), handle("carol")]
            group.hunt = CallRecord.HuntProgress(rung: 1, nextAt: at(77))
            var candidates = CandidateRecord.sample([#"{"a":1}"#, #"{"b":2}"#], of: group)
            candidates.isFinal = true
            state.candidates = [candidates]
            state.groups = [CallGroup(name: "sales", strategy: .hunt, members: [handle("bob"), handle("carol")])]
            state.aliases = [Alias(handle: handle("desk"), user: handle("bob"))]
            var user = UserRecord.full("bob")
            user.policy.missedCalls = version == "v2" ? .off : .alert
            state.users = [user]
        }
        if version != "v1", version != "v2" {
            state.notices = [
                RecoveredState.Notice(
                    push: notice, from: over.caller.user, fromName: over.callerName, video: over.video)
            ]
        }
        state.calls = [group, named]
        return state
    }

    /// A store as a server of that version leaves it.
    static func written(_ version: String) throws -> (FirstVersion, TemporaryFolder) {
        let (first, folder) = (FirstVersion(), try TemporaryFolder())
        try first.write(to: folder, version: version, more: first.more(of: version))
        return (first, folder)
    }

    /// Makes the store in `folder`, as a server of that version leaves it; or one of a later version, which holds
    /// `more` besides.
    func write(to folder: TemporaryFolder, version: String = "v1", more: String = "") throws {
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: false)
        let queue = try DatabaseQueue(path: folder.database)
        try queue.inDatabase { try $0.execute(sql: "PRAGMA journal_mode = WAL") }
        try Schema.migrator.migrate(queue, upTo: version)
        try queue.write { try $0.execute(sql: sql + more) }
        try queue.close()
    }
}

/// What a process would have left that was killed at each of several moments.
private final class Crashes: Sendable {
    private let copies = Mutex<[Result<TemporaryFolder, any Error>]>([])

    func add(_ folder: TemporaryFolder) {
        copies.withLock { copies in copies.append(Result { try TemporaryFolder(copying: folder) }) }
    }

    func all() throws -> [TemporaryFolder] { try copies.withLock { try $0.map { try $0.get() } } }
}

@Suite struct MigrationTests {
    @Test func `a store of the first version is brought up to date with all that is in it`() throws {
        let (first, folder) = try FirstVersion.written("v1")
        let unread = failure { () throws(StoreFailure) in try StoreReader.open(folder: folder.path) }
        #expect(unread?.reason == .noStore, "a reader changes no store: a server has to")

        var told: [[String]] = []
        let store = try CallStore.open(folder: folder.path) { told.append([$0, $1]) }
        #expect(told == [["v1", Schema.newest]])
        let reader = try StoreReader.open(folder: folder.path)
        #expect(try store.whole() == first.expected(of: "v1"))
        #expect(try reader.call(first.over.id) == StoredCall(call: first.over, legs: [], pushes: []))
        #expect(try reader.callCount() == 3)
        for (user, calls) in [
            ("alice", [first.named.id, first.group.id]), ("bob", [first.group.id]), ("erin", [first.named.id]),
            ("carol", [first.named.id, first.over.id]),
        ] {
            #expect(try reader.history(of: handle(user), limit: 9).entries.map(\.call.id) == calls, "\(user)")
        }
        store.close()
    }

    @Test func `a store that was brought up to date takes all records, and changes the old calls`() throws {
        let (first, folder) = try FirstVersion.written("v1")
        let store = try CallStore.open(folder: folder.path)
        var (old, new) = (first.group, CallRecord.full())
        old.members = [handle("bob"), handle("frank")]
        old.hunt = CallRecord.HuntProgress(rung: 1, nextAt: at(30))
        new.to = .group("sales")
        let batch = CandidateRecord.sample([#"{"a":1}"#], of: old)
        try store.commit([
            .call(old), .call(new), .candidates(batch), .user(.full()),
            .alias(Alias(handle: handle("desk"), user: handle("bob"))),
        ])
        let state = try store.whole()
        #expect(state.calls == [old, first.named, new])
        #expect(state.candidates == [batch] && state.users == [.full()] && state.aliases.count == 1)
        let reader = try StoreReader.open(folder: folder.path)
        #expect(try reader.calls(CallFilter(user: handle("frank"))) == [old])
        #expect(try reader.calls(CallFilter(user: handle("é📞"))) == [new])
        store.close()
        let again = try CallStore.open(folder: folder.path) { _, _ in Issue.record("nothing is left to migrate") }
        #expect(try again.whole() == state)
        again.close()
    }

    @Test func `in a store of the second version pushes are for calls, and nobody is pushed about missed ones`() throws
    {
        let folder = try TemporaryFolder()
        let first = FirstVersion()
        try first.write(
            to: folder, version: "v2",
            more: """
                INSERT INTO user_policy (handle, call_waiting, decline, do_not_disturb) VALUES ('bob', 0, 'device', 1);
                INSERT INTO alias (handle, user) VALUES ('desk', 'bob');
                """)
        let store = try CallStore.open(folder: folder.path)
        let reader = try StoreReader.open(folder: folder.path)
        var old = UserRecord.full("bob")
        old.policy.missedCalls = .off
        let state = try store.whole()
        #expect(state.users == [old] && state.aliases.count == 1)
        #expect(state.calls == [first.group, first.named] && state.pushes == [first.push])
        #expect(state.notices == [] && state.sentSyncs == [])
        #expect(try reader.pushes(PushFilter(purpose: .call)) == [first.push])
        #expect(try reader.ledgerCounts().count(.accepted, .awaited) == 1)

        // From then on both are kept.
        let notice = PushRecord.sample(of: first.leg, purpose: .missedCall)
        var reported = first.push
        (reported.report, reported.reportDueAt) = (.reported, nil)
        try store.commit([.user(.full("bob")), .push(notice), .push(reported)])
        #expect(try store.whole().users == [.full("bob")])
        #expect(try store.whole().notices.map(\.push) == [notice])
        #expect(try reader.push(first.push.id) == reported)
        let audit = try reader.audit().violations
        #expect(!audit.contains { $0.contains("more than one push") }, "a notice is no second push for the call")
        store.close()
    }

    @Test(arguments: ["v1", "v2", "v3", "v5"])
    func `every row of each earlier version is read back as it was written`(version: String) throws {
        let (first, folder) = try FirstVersion.written(version)
        let store = try CallStore.open(folder: folder.path)
        let reader = try StoreReader.open(folder: folder.path)
        #expect(try store.whole() == first.expected(of: version))
        #expect(try reader.call(first.over.id)?.call == first.over)
        #expect(try reader.pushes().count == (["v1", "v2"].contains(version) ? 1 : 2))
        #expect(try reader.audit().violations == first.violations)
        // What the newest version is for works on the old rows.
        var run = RetentionRun(RetentionPolicy(), now: at(0) + .seconds(1000 * 86_400))
        while !run.isDone { _ = try store.tables.deleteSlice(&run, rows: 500) { false } }
        #expect(try store.whole().missed == [])
        #expect(try reader.callCount() > 0 && reader.calls().map(\.id).contains(first.group.id))
        #expect(try reader.devices(DeviceFilter(suspendedOnly: true)) == [first.device])
        store.close()
    }

    @Test func `legs without a call and views of somebody's own are in no migration's way`() throws {
        let folder = try TemporaryFolder()
        let first = FirstVersion()
        let lost = [CallID(high: 8, low: 1), CallID(high: 8, low: 2)]
        let legs = lost.map { "(x'\($0.description.replacing("-", with: ""))', 'erin', x'00', x'00', 'ended', 1)" }
        try first.write(
            to: folder, version: "v5",
            more: """
                INSERT INTO leg (call, user, device, push, state, created_at) VALUES \(legs.joined(separator: ", "));
                CREATE VIEW mine AS SELECT user, count(*) AS legs FROM leg GROUP BY user;
                """)
        let store = try CallStore.open(folder: folder.path)
        let reader = try StoreReader.open(folder: folder.path)
        let counts = try reader.read {
            try Row.fetchAll($0, sql: "SELECT user, legs FROM mine").map { "\($0[0] as String) \($0[1] as Int)" }
        }
        #expect(counts == ["bob 1", "erin 2"])
        #expect(
            try reader.audit().violations == first.violations + [
                "2 legs have another serial than their call, or no call, first \(lost[0])"
            ])
        store.close()
    }

    @Test(arguments: ["v1", "v2", "v3", "v5"])
    func `a backup of each earlier version is sound, and is brought up to date after it was restored`(
        version: String
    ) throws {
        let (first, folder) = try FirstVersion.written(version)
        let other = try TemporaryFolder()
        let file = folder.parent + "/backup"
        let contents = try StoreBackup.write(folder: folder.path, to: file, replacing: false)
        #expect(contents.version == version && !contents.isCurrent)
        #expect(contents.calls == 3 && contents.liveCalls == 2 && contents.audit.violations == first.violations)
        _ = try StoreBackup.restore(file, into: other.path, replacing: false, now: 0)
        let store = try CallStore.open(folder: other.path)
        #expect(try store.whole() == first.expected(of: version))
        store.close()
    }

    @Test(arguments: ["v1", "v2", "v3", "v5"])
    func `a migration that is killed at any of its statements is done by the next start, with nothing lost`(
        version: String
    ) throws {
        let (first, folder) = try FirstVersion.written(version)
        let crashes = Crashes()
        var configuration = Configuration()
        configuration.prepareDatabase { database in
            // Small, so that half-done work reaches the disk.
            try database.execute(sql: "PRAGMA cache_size = 1; PRAGMA wal_autocheckpoint = 1")
            database.trace { _ in crashes.add(folder) }
        }
        let queue = try DatabaseQueue(path: folder.database, configuration: configuration)
        try Schema.migrator.migrate(queue)
        try queue.close()
        let left = try crashes.all()
        #expect(left.count > 5)
        var versions: Set<String> = []
        for crashed in left {
            let found = try StoreFile.read(crashed.database) { try Schema.version(of: $0) }
            versions.insert(try #require(found))
            let store = try CallStore.open(folder: crashed.path)
            #expect(try store.whole() == first.expected(of: version))
            #expect(try StoreReader.open(folder: crashed.path).audit().violations == first.violations)
            store.close()
        }
        #expect(versions.contains(version), "before the first commit it is what it was")
    }

    @Test(arguments: ["v1", "v2", "v3", "v5"])
    func `a disk that is full during a migration leaves a store that the next start brings up to date`(
        version: String
    ) throws {
        let (first, folder) = try FirstVersion.written(version)
        var configuration = Configuration()
        configuration.prepareDatabase { database in
            let pages = try Int.fetchOne(database, sql: "PRAGMA page_count") ?? 0
            try database.execute(sql: "PRAGMA max_page_count = \(pages)")
        }
        let queue = try DatabaseQueue(path: folder.database, configuration: configuration)
        let refused = failure { () throws(StoreFailure) in
            try StoreFailure.wrap(folder.database) { try Schema.migrator.migrate(queue) }
        }
        #expect(refused?.reason == .diskFull)
        try queue.close()
        let found = try StoreFile.read(folder.database) { try Schema.version(of: $0) }
        #expect(try #require(found) != Schema.newest)
        let store = try CallStore.open(folder: folder.path)
        #expect(try store.whole() == first.expected(of: version))
        store.close()
    }

    @Test func `a store made anew has the tables of one that was brought up to date`() throws {
        func schema(_ folder: TemporaryFolder) throws -> [String] {
            let queue = try DatabaseQueue(path: folder.database)
            return try queue.read { database throws in
                try String.fetchAll(
                    database, sql: "SELECT type || ' ' || name || ' ' || coalesce(sql, '') FROM sqlite_schema")
            }.sorted()
        }
        let new = try TemporaryFolder()
        try CallStore.open(folder: new.path).close()
        for version in ["v1", "v2", "v3", "v4", "v5"] {
            let old = try TemporaryFolder()
            try FirstVersion().write(to: old, version: version)
            try CallStore.open(folder: old.path).close()
            #expect(try schema(old) == schema(new))
        }
    }

    @Test(arguments: [
        ("v1", 6_548_377_447_604_708_009 as UInt64), ("v2", 7_086_015_468_017_580_215),
        ("v3", 8_561_901_490_056_910_587), ("v4", 5_500_252_624_723_740_966),
        ("v5", 16_722_095_724_245_351_482), ("v6", 11_718_418_320_601_412_619), ("v7", 4_129_735_108_172_428_539),
        ("v8", 9_620_324_248_499_673_026), ("v9", 10_111_045_203_338_171_547),
        ("v10", 15_265_810_124_204_628_173), ("v11", 17_931_424_696_185_769_598),
        ("v12", 2_228_021_637_975_945_757), ("v13", 11_872_148_284_754_431_344),
        ("v14", 4_863_392_153_660_558_972),
    ])
    func `each version is made as it was released`(version: String, released: UInt64) throws {
        let queue = try DatabaseQueue()
        try Schema.migrator.migrate(queue, upTo: version)
        let texts = try queue.read { database throws in
            try String.fetchAll(database, sql: "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name")
        }
        // FNV-1a, 64 bits.
        let digest = texts.joined(separator: "\n").utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01b3
        }
        #expect(
            digest == released,
            "stores in use were made by the text as it was: put changes into a new migration")
    }
}
