import AdminProtocol
import ArgumentParser
import CallCore
import CallStore
import CallVocabulary
import StoreInterface

/// The contents of a backup, as text and JSON.
struct BackupText {
    let contents: StoreContents
    let file: String
    let took: Duration

    init(_ contents: StoreContents, file: String, took: Duration) {
        self.contents = contents
        self.file = file
        self.took = took
    }

    var lines: [String] {
        let books = contents.audit.violations
        var table = Table(["BACKUP", file])
        table.add(["size", "\(Self.size(contents.size)) (\(contents.size) bytes)"])
        table.add(["schema", contents.version + (contents.isCurrent ? "" : ", brought up to date by the next start")])
        table.add(["calls", "\(contents.calls), \(contents.liveCalls) of them live"])
        table.add(["pushes", "\(contents.pushes)"])
        table.add(["devices", "\(contents.devices)"])
        if let oldest = contents.oldestCall { table.add(["from", Moment.text(oldest)]) }
        if let newest = contents.newestCall { table.add(["to", Moment.text(newest)]) }
        if contents.hasDamagedPages {
            table.add(["damage", "some pages do not match their checksums: values in them may be wrong"])
        }
        table.add(["books", books.isEmpty ? "balanced" : "not balanced"])
        table.add(["took", "\(took.wholeMilliseconds) ms"])
        return table.lines
    }

    var json: [String: Any] {
        var json: [String: Any] = [
            "file": file, "bytes": contents.size, "schema": contents.version, "is_current": contents.isCurrent,
            "calls": contents.calls, "live_calls": contents.liveCalls, "pushes": contents.pushes,
            "devices": contents.devices, "balanced": contents.audit.violations.isEmpty,
            "violations": contents.audit.violations, "took_ms": took.wholeMilliseconds,
        ]
        if contents.hasDamagedPages { json["has_damaged_pages"] = true }
        if let oldest = contents.oldestCall { json["oldest_call_at"] = Self.time(oldest) }
        if let newest = contents.newestCall { json["newest_call_at"] = Self.time(newest) }
        return json
    }

    private static func time(_ instant: Instant) -> [String: Any] {
        ["ms": instant.milliseconds, "rfc3339": Timestamp(instant).rfc3339]
    }

    /// Prints the ledger violations; the exit code is ``Exit/failed``.
    func endIfUnbalanced() throws {
        guard !contents.audit.violations.isEmpty else { return }
        for violation in contents.audit.violations { Terminal.complain("BROKEN: \(violation)") }
        throw Exit.failed
    }

    /// Prints the error. The exit code is ``Exit/failed`` for damaged files, else ``Exit/unavailable``.
    /// - Parameters:
    ///   - option: the option that replaces an existing file.
    ///   - backup: the backup that was read; nil if one was written.
    static func ending(after error: any Error, replacing option: String, of backup: String?) -> any Error {
        if let failure = error as? StoreFailure, let backup, isDamage(failure, in: backup) {
            Terminal.complain(
                "reveille: backup \(failure.path): \(failure.detail.clause). This backup is damaged: use another.")
            return Exit.failed
        }
        if let failure = error as? StoreFailure, failure.reason == .exists {
            Terminal.complain("reveille: \("\(failure)".dropLast()): \(option) does that.")
            return Exit.unavailable
        }
        let code = Terminal.unavailable(error)
        guard let failure = error as? StoreFailure else { return code }
        switch failure.reason {
        case .corrupted, .notADatabase, .newerVersion, .otherJournal, .missingFile, .incomplete, .foreignMark,
            .displacedFile, .overwrittenFile, .unreadableRow, .lostCommits:
            return Exit.failed
        case .notADirectory, .cannotWrite, .linkedFile, .diskFull, .noStore, .noBackup, .exists, .notReplaceable,
            .locked,
            .busy, .inputOutput, .closed, .sqlite, .noLibrary, .unreachable, .noSynchronousStandby, .tooManyConnections,
            .accessDenied, .invalidAddress, .unsuitableDatabase, .livingHome, .fenced, .leaseExpired, .notEmpty,
            .copyDiffers,
            .postgreSQL:
            return code
        }
    }

    /// Whether a backup, or a file beside it that a copied store has, is damaged. The advice of the failure is for a store.
    private static func isDamage(_ failure: StoreFailure, in backup: String) -> Bool {
        let damage: [StoreFailure.Reason] = [
            .corrupted, .otherJournal, .missingFile, .incomplete, .foreignMark, .unreadableRow,
        ]
        let ending = ".sqlite3"
        let start = backup.hasSuffix(ending) ? String(backup.dropLast(ending.count)) : backup
        return damage.contains(failure.reason) && failure.path.hasPrefix(start)
            && !failure.path.dropFirst(start.count).contains("/")
    }

    private static func size(_ bytes: Int64) -> String {
        let units = ["B", "kB", "MB", "GB", "TB"]
        var (tenths, unit) = (bytes * 10, 0)
        while tenths >= 10_000, unit < units.count - 1 { (tenths, unit) = (tenths / 1000, unit + 1) }
        return unit == 0 ? "\(bytes) B" : "\(tenths / 10).\(tenths % 10) \(units[unit])"
    }
}
