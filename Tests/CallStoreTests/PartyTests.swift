import CallCore
import CallVocabulary
import RecordTables
import StoreInterface
import Testing

@testable import CallStore

@Suite struct PartyTests {
    private func history(of user: String, _ reader: any TableReader) throws -> [CallID] {
        try reader.history(of: handle(user), limit: 10).entries.map(\.call.id)
    }

    @Test(arguments: StoreKind.allCases)
    func `members of a group have the call in their history, also without a leg`(_ kind: StoreKind) async throws {
        var call = CallRecord.live(to: .group("sales"))
        call.members = [handle("bob"), handle("q\"uo\\te")]
        try await withStore(kind, [.call(call), .leg(.sample(of: call, user: "bob"))]) { _, reader throws in
            for user in ["alice", "bob", "q\"uo\\te"] { #expect(try history(of: user, reader) == [call.id], "\(user)") }
            #expect(try history(of: "sales", reader).isEmpty)
            #expect(try reader.calls(CallFilter(user: handle("q\"uo\\te"))) == [call])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `the user behind an alias has the call in the history, and who gets the alias next does not`(_ kind: StoreKind)
        async throws
    {
        var one = CallRecord.live(to: .user(handle("+81300000001")), createdAt: at(1))
        one.members = [handle("bob")]
        var many = CallRecord.live(to: .users([handle("+81300000001"), handle("carol")]), createdAt: at(2))
        many.members = [handle("bob"), handle("carol")]
        try await withStore(kind, [.call(one), .call(many)]) { _, reader throws in
            #expect(try history(of: "bob", reader) == [many.id, one.id])
            #expect(try history(of: "carol", reader) == [many.id])
            #expect(try history(of: "alice", reader) == [many.id, one.id])
            #expect(try history(of: "+81300000001", reader).isEmpty)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a page of calls to long lists ends where a frame does, and the next one goes on`(_ kind: StoreKind)
        async throws
    {
        let names = (0..<400).map { handle("bob\($0)") }
        let calls = (Int64(0)..<30).map { CallRecord.live(to: .users(names), createdAt: at($0)) }
        try await withStore(kind, calls.map { .call($0) }) { _, reader throws in
            var found: [CallID] = []
            var cursor: HistoryCursor?
            repeat {
                let page = try reader.history(of: handle("alice"), after: cursor, limit: 100)
                #expect(page.entries.reduce(0) { $0 + $1.call.to.wireBytes } < 2 * FrameLimits.content)
                #expect(page.entries.count < calls.count)
                found += page.entries.map(\.call.id)
                cursor = page.next
            } while cursor != nil
            #expect(found == calls.reversed().map(\.id))
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a call without members belongs to those it names`(_ kind: StoreKind) async throws {
        let one = CallRecord.live(to: .user(handle("bob")), createdAt: at(1))
        let many = CallRecord.live(to: .users([handle("bob"), handle("carol")]), createdAt: at(2))
        try await withStore(kind, [.call(one), .call(many)]) { _, reader throws in
            #expect(try history(of: "bob", reader) == [many.id, one.id])
            #expect(try history(of: "carol", reader) == [many.id])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `members that come with a later record find the call too`(_ kind: StoreKind) async throws {
        var call = CallRecord.live(to: .group("sales"))
        try await withStore(kind, [.call(call)]) { store, reader throws in
            call.members = [handle("bob")]
            try store.commit([.call(call)])
            call.state = .waking
            try store.commit([.call(call)])
            #expect(try history(of: "bob", reader) == [call.id])
            call.members = nil
            try store.commit([.call(call)])
            #expect(try history(of: "bob", reader) == [call.id], "who was called once stays a party")
        }
    }

    enum Way: CaseIterable { case atOnce, behind, inParts, replayed }

    @Test(arguments: Way.allCases)
    func `new calls and legs stand in histories, whichever way they come into the tables`(way: Way) throws {
        let old = CallRecord.live(from: "dave", to: .user(handle("bob")), createdAt: at(1))
        let (one, other) = (
            CallRecord.live(createdAt: at(2)), CallRecord.live(to: .user(handle("carol")), createdAt: at(3))
        )
        let last = CallRecord.live(to: .users([handle("bob"), handle("carol")]), createdAt: at(4))
        let batches: [[StoreRecord]] = [
            [.call(other), .call(one)], [.leg(.sample(of: old, user: "frank")), .leg(.sample(of: one, user: "bob"))],
            [.call(last), .leg(.sample(of: other, user: "erin"))],
        ]
        try withStore([.call(old)]) { store, reader, folder throws in
            var (reader, killed) = (reader, folder)
            switch way {
            case .atOnce: for batch in batches { try store.commit(batch) }
            case .behind, .inParts:
                for batch in batches { try store.commitBehind(batches: [batch]) }
                while try store.catchUp(records: way == .inParts ? 1 : .max) > 0 {}
            case .replayed:
                for batch in batches { try store.commitBehind(batches: [batch]) }
                killed = try TemporaryFolder(copying: folder)
                reader = try StoreReader.open(folder: killed.path)
            }
            #expect(try history(of: "alice", reader) == [last.id, other.id, one.id])
            #expect(try history(of: "bob", reader) == [last.id, one.id, old.id])
            #expect(try history(of: "carol", reader) == [last.id, other.id])
            #expect(try history(of: "dave", reader) == [old.id])
            #expect(try history(of: "erin", reader) == [other.id])
            #expect(try history(of: "frank", reader) == [old.id], "a leg that comes long after its call")
        }
    }
}
