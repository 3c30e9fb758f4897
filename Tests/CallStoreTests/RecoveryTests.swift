import CallCore
import CallVocabulary
import Foundation
import GRDB
import RecordTables
import Testing

@testable import CallStore

@Suite struct RecoveryTests {
    @Test(arguments: StoreKind.allCases)
    func `recovery picks the live calls and those with an open push, with all that is theirs`(_ kind: StoreKind)
        async throws
    {
        var records: [StoreRecord] = []
        var expected: [CallID] = []
        var expectedPushes: [PushID] = []
        func add(_ call: CallRecord, isExpected: Bool, push: (ProviderStatus, ReportStatus?)?) {
            let leg = LegRecord.sample(of: call)
            // A second push that is over: it comes along when the call does.
            let other = LegRecord.sample(of: call)
            let over = PushRecord.sample(of: other, status: .rejected)
            records += [.call(call), .leg(leg), .leg(other), .push(over)]
            if let push { records.append(.push(.sample(of: leg, status: push.0, report: push.1))) }
            guard isExpected else { return }
            expected.append(call.id)
            expectedPushes += [over.id] + (push == nil ? [] : [leg.push])
        }
        for state in CallState.allCases {
            var call = CallRecord.live()
            call.state = state
            add(call, isExpected: state != .ended, push: nil)
        }
        for status in ProviderStatus.allCases {
            for report in ReportStatus.allCases.map(Optional.some) + [nil] {
                let isOpen = status == .intended || status == .sent || report == .awaited
                add(.ended(), isExpected: isOpen, push: (status, report))
            }
        }
        try await withStore(kind, records) { store, _ throws in
            let state = try store.whole()
            #expect(state.calls.map(\.id) == expected)
            #expect(state.legs.map(\.call) == expected.flatMap { [$0, $0] })
            #expect(Set(state.pushes.map(\.id)) == Set(expectedPushes))
            #expect(state.pushes.count == expectedPushes.count)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `pushes about missed calls come back by themselves, with what they say of their calls`(_ kind: StoreKind)
        async throws
    {
        var over = CallRecord.ended(from: "dave")
        (over.callerName, over.video) = ("Dave", true)
        let live = CallRecord.live()
        func notice(_ call: CallRecord, _ purpose: PushPurpose, _ status: ProviderStatus) -> PushRecord {
            let isOut = status == .sent || status == .accepted || status == .unknown
            return .sample(
                of: .sample(of: call), purpose: purpose, status: status, report: isOut ? .notRequired : nil)
        }
        let open = [
            notice(over, .missedCall, .intended), notice(over, .sync, .sent), notice(live, .missedCall, .sent),
        ]
        let settled = [ProviderStatus.accepted, .rejected, .unknown, .cancelled, .expired].map {
            notice(over, .missedCall, $0)
        }
        let ring = PushRecord.sample(of: .sample(of: live))
        try await withStore(
            kind,
            [.call(over), .call(live)] + (open + settled + [ring]).map { .push($0) }
        ) { store, reader throws in
            let state = try store.whole()
            #expect(state.notices.map(\.push) == open)
            #expect(state.notices.map(\.from) == [handle("dave"), handle("dave"), handle("alice")])
            #expect(state.notices.map(\.fromName) == ["Dave", "Dave", nil])
            #expect(state.notices.map(\.video) == [true, true, false])
            #expect(state.calls == [live], "a call that is over is not taken up for the sake of a notice")
            #expect(state.pushes == [ring])
            #expect(try reader.call(over.id)?.pushes.count == 7, "in the call's own story it stands")
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a user's background pushes of the last day come back with the time they were sent, oldest first`(
        _ kind: StoreKind
    ) async throws {
        let call = CallRecord.ended()
        let leg = LegRecord.sample(of: call)
        func sync(_ purpose: PushPurpose, sent: Int64?, _ status: ProviderStatus = .accepted) -> PushRecord {
            var push = PushRecord.sample(of: leg, purpose: purpose, status: status, intendedAt: at((sent ?? 0) - 10))
            push.id = .random()
            push.sentAt = sent.map { at($0) }
            return push
        }
        let syncs = (1...5).map { sync(.sync, sent: $0 * 17_000_000, $0 == 3 ? .unknown : .accepted) }
        let tooOld = sync(.sync, sent: -1_500_000)
        let others = [sync(.sync, sent: nil, .cancelled), sync(.missedCall, sent: 900), sync(.call, sent: 2000)]
        let records = [.call(call)] + (syncs.reversed() + [tooOld] + others).map { StoreRecord.push($0) }
        try await withStore(kind, records) { _, reader throws in
            let found = try reader.found([Wanted(names: [leg.device.user, handle("nobody")])])
            let entries = try #require(found.first?.entries)
            #expect(entries.first?.sentSyncs.map(\.sentAt) == syncs.map(\.sentAt))
            #expect(entries.first?.sentSyncs.allSatisfy { $0.device == leg.device.device } == true)
            #expect(entries.last == DirectoryEntry(name: handle("nobody")))
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `the offer of a call that is over is not recovered`(_ kind: StoreKind) async throws {
        let (live, over) = (CallRecord.live(), CallRecord.ended())
        let offers = [live, over].map { DescriptionsRecord(call: $0.id, offer: nil, custom: nil) }
        try await withStore(kind, [.call(live), .call(over)] + offers.map { .descriptions($0) }) { store, _ throws in
            #expect(try store.whole().descriptions == [offers[0]])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `an empty store recovers to nothing`(_ kind: StoreKind) async throws {
        try await withStore(kind) { store, _ throws in #expect(try store.whole() == WholeState()) }
    }

    @Test func `a store opened again has all that was committed, and takes more`() throws {
        let folder = try TemporaryFolder()
        let (first, second) = (CallRecord.full(), CallRecord.live())
        var store = try CallStore.open(folder: folder.path)
        try store.commit([.call(first)])
        store.close()
        store = try CallStore.open(folder: folder.path)
        #expect(try store.whole().calls == [first])
        try store.commit([.call(second)])
        #expect(try store.whole().calls == [first, second])
        store.close()
    }

    @Test func `what a commit returned for is in the files, without the store being closed`() throws {
        let folder = try TemporaryFolder()
        let store = try CallStore.open(folder: folder.path)
        let call = CallRecord.full()
        try store.commit([.call(call)])
        let left = try TemporaryFolder(copying: folder)
        #expect(try StoreReader.open(folder: left.path).calls() == [call], "no server needs to have cleaned up")
        let successor = try CallStore.open(folder: left.path)
        #expect(try successor.whole().calls == [call])
        successor.close()
        store.close()
    }

    @Test func `commits are synced to the disk, each of them`() throws {
        try withStore { store, _, _ throws in
            try store.tables.queue.inDatabase { database throws in
                // 2 is FULL.
                #expect(try Int.fetchOne(database, sql: "PRAGMA synchronous") == 2)
                #expect(try String.fetchOne(database, sql: "PRAGMA journal_mode") == "wal")
            }
        }
    }

    @Test func `recovery and the queries of a running server read by index, however long the history is`() throws {
        let party = HistoryTable.join + " WHERE party.user = 'bob' AND party.created_at < 5"
        let queries = [
            Recovery.openCalls, LegTable.selectOfCall, PushTable.selectOfCall, CandidateTable.selectOfCall,
            LedgerSQL.overdue,
            CallTable.layout.select + " WHERE state <> 'ended' ORDER BY call.created_at DESC, call.serial DESC LIMIT 9",
            PushTable.layout.select + " WHERE \(PushTable.isOpen) ORDER BY intended_at DESC, serial DESC LIMIT 9",
            CallTable.layout.select + party + " ORDER BY \(HistoryTable.order) LIMIT 9",
        ]
        try withStore { store, _, _ throws in
            try store.tables.queue.read { database throws in
                for query in queries {
                    let filled = query.replacingOccurrences(of: "?", with: "1")
                    let rows = try Row.fetchAll(database, sql: "EXPLAIN QUERY PLAN " + filled)
                    let plan = rows.map { $0["detail"] as String }
                    let scans = plan.filter { line in
                        line.hasPrefix("SCAN") && !line.contains("_live") && !line.contains("push_open")
                            && !line.contains("device_suspended") && !line.contains("subquery")
                    }
                    #expect(scans.isEmpty, "\(query)\n\(plan.joined(separator: "\n"))")
                }
            }
        }
    }
}
