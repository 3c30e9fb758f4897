import CallVocabulary
import EventLoop
import GRDB
import RecordTables
import StoreInterface
import Synchronization

/// The schedule of page checks.
struct PageCheckPace {
    /// From the start of the server.
    var firstAfter = Duration.seconds(1)
    /// From the end of a pass to the start of the next.
    var every = Duration.seconds(6 * 3600)
    /// The same while damage is known, and after a pass that could say nothing.
    var again = Duration.seconds(300)
    /// Between two looks whether a read has met a damaged page, which starts a pass at once.
    var betweenLooks = Duration.seconds(1)
}

/// Checks every page of a database periodically, on a thread of its own in parallel with commits, table by table, so
/// that checkpoints are not delayed for long.
///
/// A damaged page is detected only when it is read, which for an old call may never happen.
final class PageChecker {
    /// What a pass says of the store.
    enum Verdict: Equatable {
        /// Every page is valid, or the database cannot be read for another reason.
        case sound
        case damaged(StoreFailure)
        /// The database is missing or was replaced: what is found there says nothing about the store.
        case unknown
    }

    private let path: String
    private let files: StoreFiles
    private let loop: EventLoop
    private let pace: PageCheckPace
    private let shared: CommitterState
    private let stop: QueryStop
    private let onDamage: @Sendable (StoreFailure) -> Void
    private var timer: LoopTimer?
    private var looks: LoopTimer?
    /// The number of reads of damaged pages before the end of the last pass.
    private var mismatches: UInt64

    /// Create and release it on the loop's thread.
    /// - Parameter mismatches: the number of reads of damaged pages before the checks were asked for.
    init(
        _ path: String, loop: EventLoop, pace: PageCheckPace, after mismatches: UInt64, shared: CommitterState,
        stop: QueryStop, onDamage: @escaping @Sendable (StoreFailure) -> Void
    ) {
        self.mismatches = mismatches
        self.path = path
        files = StoreFiles(path)
        self.loop = loop
        self.pace = pace
        self.shared = shared
        self.stop = stop
        self.onDamage = onDamage
        let timer = LoopTimer(loop: loop) { [weak self] in self?.pass() }
        timer.start(after: pace.firstAfter)
        self.timer = timer
        let looks = LoopTimer(loop: loop) { [weak self] in self?.look() }
        looks.start(after: pace.betweenLooks)
        self.looks = looks
    }

    private func look() {
        let isKnown = shared.pages.withLock { $0.damage != nil }
        guard !isKnown, PageChecksums.mismatches != mismatches else {
            looks?.start(after: pace.betweenLooks)
            return
        }
        pass()
        // The pass may not read that page, which a failing commit reads again and again.
        looks?.start(after: pace.betweenLooks * 60)
    }

    private func pass() {
        let damage: StoreFailure?
        switch Self.verdict(on: path, files, stop) {
        case .sound: damage = nil
        case .damaged(let failure): damage = failure
        case .unknown:
            timer?.start(after: min(pace.every, pace.again))
            return
        }
        let isNew = shared.pages.withLock { pages in
            defer { pages.damage = damage }
            pages.passes += 1
            return pages.damage == nil
        }
        mismatches = PageChecksums.mismatches
        if let damage, isNew { onDamage(damage) }
        timer?.start(after: damage == nil ? pace.every : min(pace.every, pace.again))
    }

    static func verdict(on path: String, _ files: StoreFiles, _ stop: QueryStop = QueryStop()) -> Verdict {
        guard let damage = damage(in: path, stop) else { return .sound }
        // Afterwards: the file may have been moved during the check.
        return (try? files.check()) == nil ? .unknown : .damaged(damage)
    }

    /// - Returns: nil when every page is valid, or the database cannot be read for another reason.
    static func damage(in path: String, _ stop: QueryStop = QueryStop()) -> StoreFailure? {
        do throws(StoreFailure) {
            try StoreFailure.wrap(path) {
                let queue = try StoreConnection.open(path, StoreConnection.reading("page checker"))
                defer {
                    stop.ended()
                    try? queue.close()
                }
                stop.began(queue)
                let tables = try queue.read {
                    try String.fetchAll($0, sql: "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
                }
                for table in tables where !stop.isRequested {
                    let name = table.replacingBytes("'", with: "''")
                    let problems = try queue.read {
                        // Takes twice as long as `quick_check`, but also compares indexes with their rows.
                        try String.fetchAll($0, sql: "PRAGMA integrity_check('\(name)')")
                    }
                    guard problems != ["ok"] else { continue }
                    // A row may hold several lines, the first of which names the database.
                    let lines = problems.flatMap { $0.split(separator: "\n") }.filter { !$0.hasPrefix("***") }
                    let more = lines.count > 1 ? ", and \(lines.count - 1) more" : ""
                    throw StoreFailure(
                        .corrupted, path: path, detail: "the table \(table) is damaged: \(lines.first ?? "")\(more)")
                }
            }
            return nil
        } catch {
            return error.reason == .corrupted || error.reason == .notADatabase ? error : nil
        }
    }
}

@available(*, unavailable)
extension PageChecker: Sendable {}
