import CallCore
import CallVocabulary
import RecordTables
import StoreInterface
import StoreTesting
import Testing

@testable import CallStore
@testable import PostgresStore

/// Copies of whole stores from one kind to the other.
@Suite struct StoreCopyTests {
    /// Every table has rows, and more than one statement inserts at once.
    private static func records() -> [StoreRecord] {
        var records: [StoreRecord] = []
        for number in 0..<250 {
            let call = number.isMultiple(of: 3) ? CallRecord.full() : .ended(createdAt: at(Int64(number)))
            let (leg, other) = (LegRecord.full(of: call), LegRecord.sample(of: call, user: "frank"))
            records += [
                .call(call), .leg(leg), .leg(other), .push(.full(of: leg)), .absence(.sample(of: call)),
                .candidates(.sample(["1", "2"], of: call, from: leg.device)),
                .candidates(.sample([], of: call, isFinal: true)),
                .descriptions(DescriptionsRecord(call: call.id, offer: RawJSON(bytes: Array("{}".utf8)), custom: nil)),
                .event(EventRecord(id: .random(), at: at(1), subject: .call(call, number: 1, .invited(custom: nil)))),
                .missed(
                    user: handle("bob"),
                    MissedCall(call: call.id, from: handle("é📞"), at: at(7), reason: .ringTimeout, video: true)),
                .device(.full(user: "user\(number)")),
            ]
        }
        return records + [
            .group(
                CallGroup(
                    name: "sales \"n\"", strategy: .hunt, members: [handle("bob")], delays: [handle("bob"): .seconds(5)]
                )),
            .user(.full()), .alias(Alias(handle: handle("desk"), user: handle("bob"))),
            .rules(RulesRecord(handle: handle("bob"), rules: CallRules(blocked: [handle("eve")]))),
            .revocation(RevocationRecord(handle: handle("bob"), issuedBefore: at(9))),
        ]
    }

    private static func copy(_ source: OpenStore, to target: OpenStore) throws -> [String: Int] {
        switch (source, target) {
        case (.sqlite(let a, _), .sqlite(let b, _)): try StoreCopy.run(from: a, to: b)
        case (.sqlite(let a, _), .postgreSQL(let b)): try StoreCopy.run(from: a, to: b)
        case (.postgreSQL(let a), .sqlite(let b, _)): try StoreCopy.run(from: a, to: b)
        case (.postgreSQL(let a), .postgreSQL(let b)): try StoreCopy.run(from: a, to: b)
        }
    }

    @Test(arguments: StoreKind.allCases, StoreKind.allCases)
    func `a copy has every row of every table, and goes on as its source would`(
        from: StoreKind, to: StoreKind
    ) async throws {
        let (source, target) = (try await OpenStore.open(from), try await OpenStore.open(to))
        defer {
            source.close()
            target.close()
        }
        try source.commit(Self.records())
        let counts = try Self.copy(source, to: target)
        #expect(counts.values.allSatisfy { $0 > 0 }, "\(counts)")
        #expect(try source.whole() == target.whole())
        let (old, new) = (try source.reader(), try target.reader())
        let filter = CallFilter(limit: .max)
        #expect(try old.calls(filter) == new.calls(filter))
        #expect(try old.events(after: 0, limit: 1000, bytes: .max) == new.events(after: 0, limit: 1000, bytes: .max))
        #expect(try old.history(of: handle("bob"), limit: 1000) == new.history(of: handle("bob"), limit: 1000))
        #expect(try new.lastEvent() == 250)

        let call = CallRecord.live(createdAt: at(1_000_000))
        try target.commit([
            .call(call), .leg(.sample(of: call, user: "bob")),
            .event(EventRecord(id: .random(), at: at(1), subject: .call(call, number: 1, .invited(custom: nil)))),
        ])
        #expect(try new.history(of: handle("bob"), limit: 1).entries.map(\.call) == [call])
        #expect(try new.lastEvent() == 251)
        // It has records now.
        let failure = #expect(throws: StoreFailure.self) { try Self.copy(source, to: target) }
        #expect(failure?.reason == .notEmpty)
        old.close()
        new.close()
    }

    @Test(arguments: StoreKind.allCases)
    func `a copy that differs from its source is refused, and its target stays empty`(kind: StoreKind) async throws {
        let (source, target) = (try await OpenStore.open(kind), try await OpenStore.open(.sqlite))
        defer {
            source.close()
            target.close()
        }
        try source.commit(Self.records())
        try target.execute("CREATE TRIGGER lossy BEFORE INSERT ON device BEGIN SELECT RAISE(IGNORE); END")
        let failure = #expect(throws: StoreFailure.self) { try Self.copy(source, to: target) }
        #expect(failure?.reason == .copyDiffers)
        #expect(failure?.description.contains("The target is unchanged; the source is intact.") == true)
        try target.execute("DROP TRIGGER lossy")
        #expect(try Self.copy(source, to: target)["device"] == 250, "both are as before")
    }

    @Test func `the table that is copied last is there too: every table of the databases is in the list`() async throws
    {
        let store = try await OpenStore.open(.postgreSQL)
        defer { store.close() }
        let names = TableContents.parts.map { "'\($0.name)'" }.joined(separator: ", ")
        let reader = try store.reader()
        // Triggers fill `group_member`. What nodes share is of the realm, and not copied.
        let others = try reader.number(
            """
            SELECT count(*) FROM pg_tables WHERE schemaname = current_schema() AND tablename NOT IN (\(names),
                'home', 'lease', 'journal', 'schema_version', 'event_position', 'group_member', 'node', 'kept')
            """)
        #expect(others == 0)
        reader.close()
    }
}
