import CallCore
import CallVocabulary
import RecordTables
import Testing

@testable import CallStore

@Suite struct AdministrationTests {
    private static let sales = CallGroup(
        name: "sales \"north\"", strategy: .hunt, members: [handle("bob"), handle("+81312345678"), handle("a\\b")],
        delays: [handle("bob"): .seconds(5), handle("a\\b"): .milliseconds(0)])
    private static let rules = RulesRecord(
        handle: handle("bob"),
        rules: CallRules(
            blocked: [handle("mal\"lory"), handle("eve")], forwardBusy: .user(handle("carol")),
            forwardNoAnswer: .group("sales \"north\""), noAnswerAfter: .seconds(20)))

    private static let revocation = RevocationRecord(handle: handle("q\"uo\\te"), issuedBefore: at(77))

    @Test(arguments: StoreKind.allCases)
    func `groups, policies and aliases come back with all their fields, by name`(_ kind: StoreKind) async throws {
        let empty = CallGroup(name: "empty", strategy: .all, members: [])
        let standard = UserRecord(handle: handle("ann"), policy: UserPolicy())
        let aliases = [
            Alias(handle: handle("+81300000001"), user: handle("bob")),
            Alias(handle: handle("sales"), user: handle("carol")),
        ]
        try await withStore(
            kind,
            [
                .group(Self.sales), .group(empty), .user(.full("bob")), .user(standard), .alias(aliases[1]),
                .alias(aliases[0]), .revocation(Self.revocation), .rules(Self.rules),
                .rules(RulesRecord(handle: handle("ann"), rules: CallRules())),
            ]
        ) { store, _ throws in
            let state = try store.whole()
            #expect(state.groups == [empty, Self.sales])
            #expect(state.users == [standard, .full("bob")])
            #expect(state.aliases == aliases)
            #expect(state.revocations == [Self.revocation])
            #expect(state.rules == [RulesRecord(handle: handle("ann"), rules: CallRules()), Self.rules])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `each part of a policy has a column of its own`(_ kind: StoreKind) async throws {
        var policies = Array(repeating: UserPolicy(), count: 4)
        policies[0].callWaiting = false
        policies[1].decline = .device
        policies[2].doNotDisturb = true
        policies[3].missedCalls = .alert
        let users = policies.enumerated().map { UserRecord(handle: handle("user\($0)"), policy: $1) }
        try await withStore(kind, users.map { .user($0) }) { store, _ throws in
            #expect(try store.whole().users == users)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a later one takes the place of an earlier one, in one batch and in two`(_ kind: StoreKind) async throws {
        var changed = Self.sales
        changed.strategy = .all
        changed.delays = [:]
        changed.members = [handle("carol")]
        let alias = Alias(handle: handle("desk"), user: handle("bob"))
        let turned = Alias(handle: alias.handle, user: handle("carol"))
        let calm = UserRecord(handle: handle("bob"), policy: UserPolicy())
        let none = RulesRecord(handle: handle("bob"), rules: CallRules())
        let later = RevocationRecord(handle: Self.revocation.handle, issuedBefore: at(78))
        let early: [StoreRecord] = [
            .group(Self.sales), .user(.full("bob")), .alias(alias), .rules(Self.rules), .revocation(Self.revocation),
        ]
        let late: [StoreRecord] = [
            .group(changed), .user(calm), .alias(turned), .rules(none), .revocation(later),
        ]
        for batches in [[early, late], [early + late]] {
            try await withStore(kind) { store, _ throws in
                let rows = try batches.map { try store.commit($0) }
                #expect(rows.allSatisfy { $0 == 5 }, "each key is written once a batch")
                let state = try store.whole()
                #expect(state.groups == [changed] && state.users == [calm] && state.aliases == [turned])
                #expect(state.rules == [none] && state.revocations == [later])
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `what is deleted is gone, unless it was made again after that`(_ kind: StoreKind) async throws {
        let alias = Alias(handle: handle("desk"), user: handle("bob"))
        let made: [StoreRecord] = [.group(Self.sales), .alias(alias)]
        let deleted: [StoreRecord] = [.groupDeleted(Self.sales.name), .aliasDeleted(alias.handle)]
        for (batches, isThere) in [
            ([made, deleted], false), ([made + deleted], false), ([made, deleted + made], true),
            ([made, deleted, made], true), ([deleted], false),
        ] {
            try await withStore(kind, [.group(CallGroup(name: "other", strategy: .all, members: []))]) {
                store, _ throws in
                for batch in batches { try store.commit(batch) }
                let state = try store.whole()
                #expect(state.groups.map(\.name) == ["other"] + (isThere ? [Self.sales.name] : []))
                #expect(state.aliases == (isThere ? [alias] : []))
            }
        }
    }
}
