import CallCore
import CallStore
import EventLoop
import Logging

@testable import CallServer

extension AdminShard.Environment {
    /// That of a server without anything around it: an empty store in `folder`, and no log.
    static func plain(
        _ folder: DataFolder, core: Mailbox<CoreInput>,
        hooks: AdminHooks = AdminHooks(setLogLevel: { _ in nil }, stop: {})
    ) throws -> Self {
        try CallStore.open(folder: folder.path).close()
        let log = Logger(label: "admin-test", factory: { _ in SwiftLogNoOpLogHandler() })
        let reads = AdminReads(
            queries: try SQLiteQueries.open(folder: folder.path, thread: "test"), settle: { $0(true) },
            clock: ServerClock(), log: log)
        return Self(core: core, reads: reads, hooks: hooks, figures: .plain(nil), clock: ServerClock(), log: log)
    }
}
