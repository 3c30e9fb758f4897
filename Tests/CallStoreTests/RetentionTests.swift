import CallCore
import CallVocabulary
import Foundation
import GRDB
import RecordTables
import StoreInterface
import Testing

@testable import CallStore

@Suite struct RetentionTests {
    private static let day = Duration.seconds(86_400)
    private static let now = at(0)
    private static let policy = RetentionPolicy(calls: day * 100, pushes: day * 50, missed: day * 30)

    /// So many days ago.
    private static func ago(_ days: Int, _ more: Duration = .zero) -> Instant {
        now + (.zero - day * days) + more
    }

    /// An ended call of a group with all that may belong to it: two legs, settled pushes of both kinds, an offer,
    /// candidates, and parties that only a leg or the list of members names.
    private static func history(createdAt: Instant) -> (call: CallRecord, records: [StoreRecord], pushes: [PushRecord])
    {
        var call = CallRecord.ended(
            from: "alice", to: .users([handle("bob"), handle("desk")]), createdAt: createdAt, reason: .ringTimeout)
        call.members = [handle("bob"), handle("carol")]
        let legs = ["bob", "frank"].map { user in
            var leg = LegRecord.sample(of: call, user: user)
            leg.state = .ended
            return leg
        }
        let pushes = [
            PushRecord.sample(of: legs[0], status: .accepted, report: .reported, intendedAt: createdAt),
            .sample(of: legs[1], status: .cancelled, intendedAt: createdAt),
            .sample(of: legs[0], purpose: .missedCall, status: .expired, intendedAt: createdAt + .seconds(60)),
        ]
        let offer = DescriptionsRecord(call: call.id, offer: RawJSON(bytes: Array("{}".utf8)), custom: nil)
        return (
            call,
            [.call(call)] + legs.map { .leg($0) } + pushes.map { .push($0) } + [
                .descriptions(offer), .candidates(.sample(["1"], of: call)), .candidates(.sample(["2"], of: call)),
            ], pushes
        )
    }

    private static func missed(_ number: Int, at instant: Instant, user: String = "bob") -> StoreRecord {
        .missed(
            user: handle(user),
            MissedCall(
                call: CallID(high: 1, low: UInt64(number)), from: handle("alice"), at: instant, reason: .ringTimeout,
                video: false))
    }

    /// Runs retention to its end.
    @discardableResult
    private static func run(
        _ store: OpenStore, _ policy: RetentionPolicy = policy, rows: Int = 500, afterSlice: () throws -> Void = {}
    ) throws -> RetentionCounts {
        try run(store.retentionTables, policy, rows: rows, afterSlice: afterSlice)
    }

    @discardableResult
    private static func run(
        _ tables: any RetentionTables, _ policy: RetentionPolicy = policy, rows: Int = 500,
        afterSlice: () throws -> Void = {}
    ) throws -> RetentionCounts {
        var (run, counts, slices) = (RetentionRun(policy, now: now), RetentionCounts(), 0)
        while !run.isDone {
            slices += 1
            guard slices < 10_000 else { throw StoreFailure(.busy, path: "", detail: "the run does not end") }
            let deleted = try tables.deleteSlice(&run, rows: rows) { false }
            #expect(deleted.total <= rows)
            counts += deleted
            try afterSlice()
        }
        return counts
    }

    private static func blob<Subject>(_ id: Identifier<Subject>) -> Data {
        withUnsafeBytes(of: (id.high.bigEndian, id.low.bigEndian)) { Data($0) }
    }

    /// Rows that belong to a call that is not there.
    private static func orphans(_ reader: any TableReader) throws -> Int {
        let ids = ["leg", "push", "call_descriptions", "call_candidates"].map { ($0, "call", "id") }
        let serials = ["call_party", "leg", "push"].map { ($0, "call_serial", "serial") }
        return try (ids + serials).reduce(0) { sum, rows in
            let sql = "SELECT count(*) FROM \(rows.0) WHERE \(rows.1) NOT IN (SELECT \(rows.2) FROM call)"
            return sum + Int(try reader.number(sql) ?? 0)
        }
    }

    private static func rows(_ reader: any TableReader) throws -> [String: Int] {
        var rows: [String: Int] = [:]
        for table in ["call", "call_party", "leg", "push", "call_descriptions", "call_candidates", "missed_call"] {
            rows[table] = try reader.number("SELECT count(*) FROM \(table)").map { Int($0) }
        }
        return rows
    }

    @Test(arguments: StoreKind.allCases)
    func `a call goes once it ended longer ago than the age, with all that belongs to it`(_ kind: StoreKind)
        async throws
    {
        let (old, young) = (Self.history(createdAt: Self.ago(101)), Self.history(createdAt: Self.ago(2)))
        try await withStore(kind, old.records) { store, reader throws in
            let before = try Self.rows(reader)
            #expect(before["call_party"] == 4, "alice, bob and carol, and frank by his leg")
            try store.commit(young.records)
            let counts = try Self.run(store)
            #expect(counts.calls == 1 && counts.parties == 4 && counts.legs == 2 && counts.pushes == 3)
            #expect(counts.descriptions == 1 && counts.candidates == 2 && counts.total == 13)
            #expect(try Self.rows(reader) == before, "those of the young call are all there")
            #expect(try reader.calls() == [young.call])
            #expect(try reader.history(of: handle("frank"), limit: 9).entries.map(\.call) == [young.call])
            #expect(try reader.audit().violations == [])
            #expect(try Self.orphans(reader) == 0)
            #expect(try store.retentionTables.oldestCall() == young.call.createdAt)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `the age counts from the end of a call, to the millisecond`(_ kind: StoreKind) async throws {
        let minute = Duration.seconds(60)
        let gone = CallRecord.ended(createdAt: Self.ago(100, .zero - minute - .milliseconds(1)))
        let kept = CallRecord.ended(createdAt: Self.ago(100, .zero - minute))
        var long = CallRecord.ended(createdAt: Self.ago(300))
        long.endedAt = Self.ago(99)
        try await withStore(kind, [.call(gone), .call(kept), .call(long)]) { store, reader throws in
            #expect(try Self.run(store).calls == 1)
            #expect(try reader.calls() == [kept, long])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `live calls, and pushes that are open with their calls, are kept whatever their age`(_ kind: StoreKind)
        async throws
    {
        let live = CallRecord.live(createdAt: Self.ago(500))
        let call = CallRecord.ended(createdAt: Self.ago(400))
        let late = CallRecord.ended(createdAt: Self.ago(300))
        let legs = [LegRecord.sample(of: live), .sample(of: call), .sample(of: call), .sample(of: late)]
        let settled = PushRecord.sample(of: legs[0], status: .accepted, report: .reported, intendedAt: Self.ago(500))
        let open = PushRecord.sample(of: legs[1], status: .accepted, report: .awaited, intendedAt: Self.ago(400))
        let besides = PushRecord.sample(of: legs[2], status: .rejected, intendedAt: Self.ago(400))
        let notice = PushRecord.sample(of: legs[3], purpose: .sync, intendedAt: Self.ago(300))
        let records: [StoreRecord] =
            [live, call, late].map { .call($0) } + legs.map { .leg($0) }
            + [settled, open, besides, notice].map { .push($0) }
        try await withStore(kind, records) { store, reader throws in
            let counts = try Self.run(store)
            #expect(counts.total == 1 && counts.pushes == 1)
            #expect(try reader.calls() == [late, call, live])
            #expect(try reader.pushes() == [notice, open, settled], "of a live call, memory has the settled ones too")
            #expect(try store.whole().pushes == [settled, open] && store.whole().notices.map(\.push) == [notice])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `pushes go by their own age, and with their calls at the latest`(_ kind: StoreKind) async throws {
        let (young, old) = (Self.history(createdAt: Self.ago(10)), Self.history(createdAt: Self.ago(51)))
        for (age, gone) in [(50, old.pushes), (9, young.pushes + old.pushes), (nil, [])] as [(Int?, [PushRecord])] {
            try await withStore(kind, young.records + old.records) { store, reader throws in
                let policy = RetentionPolicy(calls: nil, pushes: age.map { Self.day * $0 }, missed: nil)
                let counts = try Self.run(store, policy)
                #expect(counts.total == gone.count && counts.pushes == gone.count)
                #expect(try reader.calls() == [young.call, old.call])
                #expect(Set(try reader.pushes().map(\.id)).isDisjoint(with: gone.map(\.id)))
                #expect(try reader.audit().violations == [])
            }
        }
        // Even if the pushes are said to be kept for ever.
        try await withStore(kind, old.records) { store, reader throws in
            try Self.run(store, RetentionPolicy(calls: Self.day * 20, pushes: nil, missed: nil))
            #expect(try reader.pushes() == [])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `of missed calls the newest hundred of each user stay, as long as they are young`(_ kind: StoreKind)
        async throws
    {
        let many = (0..<250).map { Self.missed($0, at: Self.ago(1, .milliseconds($0))) }
        let old = (300..<303).map { Self.missed($0, at: Self.ago(31), user: "carol") }
        let young = Self.missed(400, at: Self.ago(29), user: "carol")
        try await withStore(kind, many + old + [young]) { store, reader throws in
            #expect(try Self.run(store, rows: 40).missed == 153)
            let left = try store.whole().missed
            #expect(left.filter { $0.user == handle("bob") }.map(\.call.call.low) == (150..<250).map { UInt64($0) })
            #expect(left.filter { $0.user == handle("carol") }.map(\.call.call.low) == [400])
        }
        try await withStore(kind, many + old) { store, reader throws in
            #expect(try Self.run(store, .keepAll).missed == 150)
            #expect(try store.whole().missed.count == 103)
        }
    }

    @Test(arguments: [-(1 << 60), 1 << 60, Int64.min, .max])
    func `a damaged time of a call or a push stops no run`(time: Int64) throws {
        // The last call stays, and its pushes go.
        let histories = [200, 199, 60].map { Self.history(createdAt: Self.ago($0)) }
        try withStore(histories.flatMap(\.records)) { store, reader, _ throws in
            try store.tables.queue.write { database in
                try database.execute(
                    sql: "UPDATE call SET created_at = ? WHERE id = ?",
                    arguments: [time, Self.blob(histories[0].call.id)])
                try database.execute(
                    sql: "UPDATE push SET intended_at = ? WHERE id = ?",
                    arguments: [time, Self.blob(histories[2].pushes[0].id)])
            }
            let counts = try Self.run(store.tables)
            #expect(counts.calls == (time < 0 ? 2 : 1), "\(counts)")
            let left = try Self.rows(reader)
            #expect(left["call"] == (time < 0 ? 1 : 2) && left["leg"] == (time < 0 ? 2 : 4), "\(left)")
            #expect(left["push"] == (time < 0 ? 0 : 1), "\(left)")
            // The entries of a damaged call in its four users' histories stay: they are found by its time.
            #expect(left["call_party"] == 8, "\(left)")
            #expect(try Self.orphans(reader) == (time < 0 ? 4 : 0))
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `an age below a day counts as a day`(_ kind: StoreKind) async throws {
        let ended = CallRecord.ended(createdAt: Self.ago(0, .seconds(-3600)))
        let notice = PushRecord.sample(
            of: .sample(of: ended), purpose: .sync, status: .accepted, report: .unreported,
            intendedAt: Self.ago(0, .seconds(-3600)))
        let records: [StoreRecord] = [.call(ended), .push(notice), Self.missed(1, at: Self.ago(0, .seconds(-3600)))]
        try await withStore(kind, records) { store, reader throws in
            let none = RetentionPolicy(calls: .zero, pushes: .zero, missed: .zero)
            #expect(try Self.run(store, none).total == 0)
        }
    }

    @Test func `however it is cut off, no row is left without its call, and the next run ends what this one began`()
        throws
    {
        let old = (0..<6).flatMap { Self.history(createdAt: Self.ago(101 + $0)).records }
        let young = Self.history(createdAt: Self.ago(1))
        for rows in [1, 3, 7, 20] {
            try withStore(old + young.records) { store, reader, folder throws in
                try Self.run(store.tables, rows: rows) {
                    #expect(try Self.orphans(reader) == 0)
                    #expect(try reader.audit().violations == [])
                    // What is on disk at this moment is what a process that is killed now leaves.
                    let crashed = try TemporaryFolder(copying: folder)
                    let next = try CallStore.open(folder: crashed.path)
                    try Self.run(next.tables)
                    #expect(try StoreReader.open(folder: crashed.path).calls() == [young.call])
                    next.close()
                }
                #expect(try reader.calls() == [young.call])
                #expect(try Self.rows(reader).values.reduce(0, +) == 13)
            }
        }
    }

    @Test func `a slice is rolled back as a whole when it fails, and goes on where it was`() throws {
        let old = (0..<50).flatMap { Self.history(createdAt: Self.ago(101 + $0)).records }
        try withStore(old) { store, reader, _ throws in
            let before = try Self.rows(reader)
            var run = RetentionRun(Self.policy, now: Self.now)
            try store.tables.queue.inDatabase {
                try $0.execute(
                    sql: """
                        CREATE TEMP TRIGGER broken BEFORE DELETE ON main.call_candidates
                        BEGIN SELECT RAISE(ABORT, 'broken'); END
                        """)
            }
            #expect(
                failure { () throws(StoreFailure) in try store.tables.deleteSlice(&run, rows: 500) { false } } != nil)
            #expect(try Self.rows(reader) == before)
            try store.tables.queue.inDatabase { try $0.execute(sql: "DROP TRIGGER broken") }
            while !run.isDone { _ = try store.tables.deleteSlice(&run, rows: 500) { false } }
            #expect(try Self.rows(reader).values.allSatisfy { $0 == 0 })
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `what is said of a call that was looked up and then deleted leaves no trace`(_ kind: StoreKind) async throws {
        let old = Self.history(createdAt: Self.ago(101))
        let young = Self.history(createdAt: Self.ago(99))
        try await withStore(kind, old.records + young.records) { store, reader throws in
            try Self.run(store)
            var (gone, kept) = (old.pushes[1], young.pushes[1])
            (gone.report, kept.report) = (.reportedLate, .reportedLate)
            var leg = LegRecord.sample(of: old.call)
            leg.state = .ended
            try store.commit([.push(gone), .push(kept), .leg(leg)])
            #expect(try reader.push(gone.id) == nil)
            #expect(try reader.push(kept.id) == kept)
            #expect(try Self.orphans(reader) == 0)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a new call may have the id of one that was deleted, and nothing of that one comes back with it`(
        _ kind: StoreKind
    ) async throws {
        let old = Self.history(createdAt: Self.ago(101))
        try await withStore(kind, old.records) { store, reader throws in
            try Self.run(store)
            let new = CallRecord.live(old.call.id, from: "dave", createdAt: Self.now)
            let leg = LegRecord.sample(of: new)
            let push = PushRecord.sample(of: leg, intendedAt: Self.now)
            try store.commit([.call(new), .leg(leg), .push(push)])
            #expect(try reader.call(new.id) == StoredCall(call: new, legs: [leg], pushes: [push]))
            #expect(try reader.history(of: handle("alice"), limit: 9).entries.map(\.call) == [])
            #expect(try store.whole().calls == [new])
        }
    }

    @Test func `each statement finds its rows by an index`() throws {
        try withStore { store, _, _ throws in
            let statements =
                [
                    RetentionSQL.nextCall, RetentionSQL.nextPush, RetentionSQL.dropParties(.sqlite),
                    RetentionSQL.dropMissed,
                ]
                + [RetentionSQL.oldestKeptMissed]
                + ["push", "leg"].map { RetentionSQL.dropOfCall($0, by: "call_serial", .sqlite) }
                + ["call_descriptions", "call_candidates"].map { RetentionSQL.dropOfCall($0, by: "call", .sqlite) }
            for statement in statements {
                // The plan is the same for any values.
                let sql = statement.replacing(/\?[0-9]?/, with: "1")
                let plan = try store.tables.queue.inDatabase { database throws in
                    try Row.fetchAll(database, sql: "EXPLAIN QUERY PLAN \(sql)").map { $0["detail"] as String }
                }
                // A call's JSON, and the users read off it, are no tables.
                let scans = plan.filter { $0.hasPrefix("SCAN") && !$0.contains("VIRTUAL") && !$0.contains("named") }
                #expect(scans == [], "\(sql)")
                #expect(!plan.contains { $0.contains("TEMP B-TREE FOR ORDER BY") }, "\(sql)")
            }
        }
    }
}
