import CallCore
import CallVocabulary
import Foundation
import LibWebSockets
import LogCapture
import Logging
import StoreInterface
import TestCleanup
import Testing

@testable import CallServer

@Suite("The store of a server", .cleanup) struct ServerStoreTests {
    @Test("leaves its database alone when it is closed, without write-ahead logs, whoever has read it")
    func closing() async throws {
        let folder = try DataFolder.temporary()
        let store = try await ServerStore.open(
            ServerConfiguration(address: .anyPort, data: folder, shards: 1), log: .none)
        // A literal that is a handle.
        let user = Handle("alice")!
        let isTaken = store.recordLog.commit(batch: [.user(UserRecord(handle: user, policy: UserPolicy()))]) { _ in }
        #expect(isTaken)
        await store.recordLog.flush()
        for queries in [store.queries, store.adminQueries] {
            #expect(try await queries.call(CallID(high: 1, low: 1)) == nil)
        }
        await store.close()
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(files.filter { $0.hasSuffix("-wal") || $0.hasSuffix("-shm") } == [])
        #expect(files.contains("reveille.sqlite3"))
    }

    @Test("an export leaves out a damaged row, and names it in JSON, in a header, and in the log")
    func damagedRow() async throws {
        let folder = try DataFolder.temporary()
        let store = try await ServerStore.open(
            ServerConfiguration(address: .anyPort, data: folder, shards: 1), log: .none)
        // A literal that is a handle.
        let alice = Party(user: Handle("alice")!, device: DeviceID(high: 1, low: 1))
        let times: [Int64] = [1_000, 1 << 60, 3_000]
        let calls = times.enumerated().map { number, time in
            var call = CallRecord(
                id: CallID(high: 1, low: UInt64(number)), caller: alice, callerName: nil, to: .user(alice.user),
                video: false, inviteDigest: 0, state: .ended, createdAt: Instant(milliseconds: time),
                ringsUntil: Instant(milliseconds: 2_000))
            (call.endedAt, call.endReason) = (Instant(milliseconds: Int64(number)), .hangup)
            return StoreRecord.call(call)
        }
        #expect(store.recordLog.commit(batch: calls) { _ in })
        await store.recordLog.flush()
        let lines = LogLines()
        for accept in [nil, "text/csv"] {
            let export = try BackendExport(.calls, [:], accept: accept)
            let response = try await export.response(
                store.adminQueries, before: Instant(milliseconds: 5_000), log: lines.logger())
            let header = response.headers.first { $0.name == "Reveille-Unreadable" }
            #expect(header?.value == "1")
            let body = String(decoding: response.body, as: UTF8.self)
            #expect(body.contains("0000-000000000000") && body.contains("0000-000000000002"), "\(body)")
            if accept == nil {
                #expect(body.contains(#""unreadable":["row 2 of call: call.created_at holds “1152921504606846976”"]"#))
            }
        }
        #expect(lines.take().filter { $0.contains("row 2 of call") }.count == 2)
        await store.close()
    }
}
