import CallCore
import CallVocabulary
import Foundation
import Testing

@testable import CallStore

@Suite struct CheckpointTests {
    private static let pageSize: Int64 = 4096

    private static func size(_ path: String) throws -> Int64 {
        try #require(try FileManager.default.attributesOfItem(atPath: path)[.size] as? NSNumber).int64Value
    }

    /// One call a commit, each of which writes some pages.
    private static func commit(_ calls: Range<Int64>, to store: CallStore, until isEnough: () throws -> Bool) throws {
        for number in calls {
            try store.commit([.call(.live(createdAt: at(number)))])
            if try isEnough() { return }
        }
    }

    @Test func `pages come into the database beside the commits, and the log begins anew`() throws {
        let folder = try TemporaryFolder()
        let store = try CallStore.open(
            folder: folder.path, patience: .zero, checkpoints: Checkpoints.Pace(pages: 20, most: .max))
        let empty = try Self.size(folder.database)
        // As many commits as it takes: the thread beside is not waited for.
        let log = folder.database + "-wal"
        try Self.commit(0..<20_000, to: store) { try Self.size(folder.database) > empty + 20 * Self.pageSize }
        #expect(try Self.size(folder.database) > empty + 20 * Self.pageSize)
        let length = try Self.size(log)
        // A log that did not begin anew would grow by more than four pages a commit.
        try Self.commit(20_000..<20_300, to: store) { false }
        #expect(try Self.size(log) < length + 300 * 4 * Self.pageSize)
        store.close()
        #expect(try StoreReader.open(folder: folder.path).callCount() >= 300)
    }

    @Test func `a log that the thread beside cannot shorten is carried over by the store itself`() throws {
        let folder = try TemporaryFolder()
        // Beside would begin far later.
        let store = try CallStore.open(
            folder: folder.path, patience: .zero, checkpoints: Checkpoints.Pace(pages: .max, most: 50))
        try Self.commit(0..<300, to: store) { false }
        #expect(try Self.size(folder.database + "-wal") < 100 * (Self.pageSize + 24))
        store.close()
        #expect(try StoreReader.open(folder: folder.path).callCount() == 300)
    }
}
