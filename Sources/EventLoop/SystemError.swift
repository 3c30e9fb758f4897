import CLibUV
import Glibc

/// A failed call into libuv or the system: the operation and its errno.
public struct SystemError: Error, CustomStringConvertible, Sendable {
    /// The call and its subject: `bind 127.0.0.1:7350`.
    public let operation: String
    /// The system's `errno`, positive.
    public let errno: Int32
    /// The reason in words; that of `errno` where it has one.
    private let reason: String

    public init(operation: String, errno: Int32) {
        self.init(operation: operation, errno: errno, reason: String(cString: strerror(errno)))
    }

    /// - Parameter reason: of an error that is none of the system's, for which `errno` stands.
    init(operation: String, errno: Int32, reason: String) {
        self.operation = operation
        self.errno = errno
        self.reason = reason
    }

    public var description: String { "\(operation): \(reason)" }

    /// What to do where the process, the machine or the disk is the cause, and no file or setting; nil for other errors.
    public var machineRemedy: String? {
        switch errno {
        case EMFILE: "raise the process's limit of open files (LimitNOFILE, ulimit -Hn)"
        case ENFILE: "raise the machine's limit of open files (sysctl fs.file-max)"
        case ENOMEM: "free some memory"
        case ENOSPC, EDQUOT: "free some space on the disk"
        case EIO: "check the disk and the kernel's log (dmesg)"
        default: nil
        }
    }

    /// Returns a libuv result, or throws the error of a negative one.
    @discardableResult
    static func check(_ result: Int32, _ operation: @autoclosure () -> String) throws -> Int32 {
        // On Unix libuv's error codes are negated errno values (uv/errno.h).
        guard result >= 0 else { throw SystemError(operation: operation(), errno: -result) }
        return result
    }
}
