import CallCore
import CallStore
import EventLoop
import Logging

@testable import AdminServer
@testable import CallServer

extension AdminShard.Environment {
    /// The environment of a minimal server: an empty store in `folder`, and no log.
    static func plain(
        _ folder: DataFolder, core: Mailbox<CoreInput>,
        hooks: AdminHooks, log: Logger, figures: FigureSources = .plain(nil),
        settle: @escaping @Sendable (@escaping @Sendable (Bool) -> Void) -> Void = { $0(true) }
    ) throws -> Self {
        try CallStore.open(folder: folder.path).close()
        let clock = ServerClock()
        let reads = AdminReads(
            queries: try SQLiteQueries.open(folder: folder.path, thread: "test"), settle: settle,
            wallTime: { clock.time() }, log: log)
        return Self(core: core, reads: reads, hooks: hooks, figures: figures, now: { clock.now() }, log: log)
    }
}
