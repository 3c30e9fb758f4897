import CallCore
import CallVocabulary
import RecordTables
import StoreInterface
import StoreTesting
import Testing

@testable import PostgresStore

@Suite struct PostgresOpeningTests {
    @Test func `a store is made, written, read and opened again`() async throws {
        let address = try await PostgresServer.freshAddress()
        let store = try PostgresStore.open(address, name: "test")
        let call = CallRecord(
            id: .random(), caller: Party(user: Handle("alice")!, device: .random()), callerName: nil,
            to: .user(Handle("bob")!), video: false, inviteDigest: 1, state: .routing,
            createdAt: Instant(milliseconds: 1), ringsUntil: Instant(milliseconds: 2))
        try store.commit([.call(call)])
        let reader = PostgresReader(address)
        #expect(try reader.query { try $0.call(call.id) }?.call == call)
        #expect(try reader.query { try $0.history(of: Handle("bob")!, after: nil, limit: 3) }.entries.count == 1)
        #expect(try reader.query { try $0.audit() }.violations == [])
        store.close()
        let again = try PostgresStore.open(address, name: "test")
        #expect(try again.recover().calls == [call])
        again.close()
    }
}
