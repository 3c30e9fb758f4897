import GRDB
import GRDBSQLite
import Glibc
import StoreInterface

extension StoreFailure {
    init(code: Int32, path: String, detail: String) {
        // The low byte is the primary result code (sqlite.org/rescode.html).
        let reason: Reason =
            switch code & 0xFF {
            case SQLITE_FULL: .diskFull
            case SQLITE_NOTADB: .notADatabase
            case SQLITE_CORRUPT: .corrupted
            // Of a page: see `PageChecksums`.
            case SQLITE_IOERR where code == ResultCode.SQLITE_IOERR_DATA.rawValue: .corrupted
            // The index of a write-ahead log, which is made before the first write.
            case SQLITE_IOERR where code == ResultCode.SQLITE_IOERR_SHMSIZE.rawValue: .diskFull
            case SQLITE_READONLY, SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_AUTH: .cannotWrite
            case SQLITE_BUSY, SQLITE_LOCKED: .busy
            case SQLITE_IOERR: .inputOutput
            // Only a connection that is about to be closed is interrupted.
            case SQLITE_INTERRUPT: .closed
            default: .sqlite(code)
            }
        self.init(reason, path: path, detail: "\(detail)\(Self.operation(code)) (SQLite \(code))")
    }

    /// What failed, for codes whose message says only that an I/O error occurred.
    private static func operation(_ code: Int32) -> String {
        switch ResultCode(rawValue: code) {
        case .SQLITE_IOERR_READ, .SQLITE_IOERR_SHORT_READ: ", a read failed"
        case .SQLITE_IOERR_DATA:
            """
            , page \(PageChecksums.lastMismatch) does not match its checksum: the disk changed it, or another program \
            wrote it
            """
        case .SQLITE_IOERR_WRITE: ", a write failed"
        case .SQLITE_IOERR_FSYNC, .SQLITE_IOERR_DIR_FSYNC: ", a sync failed"
        case .SQLITE_IOERR_TRUNCATE: ", the file cannot be truncated"
        case .SQLITE_IOERR_SHMSIZE: ", the index of the write-ahead log cannot grow"
        default: ""
        }
    }

    init(errno: Int32, path: String, operation: String) {
        let reason: Reason =
            switch errno {
            case ENOTDIR, EEXIST: .notADirectory
            case EACCES, EPERM, EROFS, ENOENT, EISDIR, ELOOP: .cannotWrite
            case ENOSPC, EDQUOT: .diskFull
            default: .inputOutput
            }
        self.init(reason, path: path, detail: "\(operation): \(String(cString: strerror(errno)))")
    }

    /// Runs `body`, and converts its errors to failures of the store at `path`.
    static func wrap<Result>(_ path: String, _ body: () throws -> Result) throws(StoreFailure) -> Result {
        do {
            return try body()
        } catch let failure as StoreFailure {
            throw failure
        } catch let error as DatabaseError {
            throw StoreFailure(
                code: error.extendedResultCode.rawValue, path: path, detail: error.message ?? "no message")
        } catch {
            throw StoreFailure(.inputOutput, path: path, detail: "\(error)")
        }
    }
}
