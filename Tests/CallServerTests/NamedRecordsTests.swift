import AdminProtocol
import CallCore
import CallStore
import CallVocabulary
import Determinism
import StoreInterface
import TestCleanup
import Testing

@testable import AdminServer
@testable import CallServer

@Suite("Calls and pushes named by a part of their id", .cleanup)
struct NamedRecordsTests {
    private static let begin = Instant(milliseconds: 1_789_689_600_000)

    /// Created within one minute; more calls than fit a page.
    private static let calls: [CallRecord] = {
        var generator = SeededGenerator(seed: 1)
        return (0..<300).map { number in
            let at = begin + .milliseconds(Int64(number) * 100)
            // The literals are handles.
            return CallRecord(
                id: CallID(at: at, random: &generator), caller: Party(user: Handle("alice")!, device: .random()),
                callerName: nil, to: .user(Handle("bob")!), video: false, inviteDigest: 1, state: .routing,
                createdAt: at, ringsUntil: at + .seconds(45))
        }
    }()

    private func withStore(_ body: (any StoreQueries) async throws -> Void) async throws {
        let folder = try DataFolder.temporary()
        let store = try CallStore.open(folder: folder.path)
        try store.commit(Self.calls.map { .call($0) })
        store.close()
        try await folder.withQueries(body)
    }

    @Test("the oldest call is found by the end of its id, like the newest, as in the store itself")
    func found() async throws {
        try await withStore { queries in
            for call in Self.calls {
                let part = try #require(IDPart<CallSubject>(call.id.description.suffix(12)))
                let page = try await ListCalls(id: part).read(queries, now: Self.begin)
                #expect(page.items.map(\.callID) == [call.id])
                #expect(try await queries.callIDs(part, limit: 10) == [call.id])
            }
        }
    }

    @Test("a part that many ids have returns one page")
    func many() async throws {
        try await withStore { queries in
            let part = try #require(IDPart<CallSubject>(Self.calls[0].id.description.prefix(6)))
            let page = try await ListCalls(id: part).read(queries, now: Self.begin)
            #expect(page.items.count == AdminEndpoint.pageSize)
        }
    }

    @Test("further conditions are refused, not ignored")
    func conditions() async throws {
        try await withStore { queries in
            var calls = ListCalls(id: try #require(IDPart("0b9c8e4e")))
            calls.live = true
            var pushes = ListPushes(id: try #require(IDPart("0b9c8e4e")))
            pushes.open = true
            await #expect(throws: AdminRefusal.self) { try await calls.read(queries, now: Self.begin) }
            await #expect(throws: AdminRefusal.self) { try await pushes.read(queries, now: Self.begin) }
        }
    }
}
