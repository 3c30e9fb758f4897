import Foundation
import Glibc
import StoreInterface

/// The exclusive lock on a store's folder, held for the lifetime of the value and released by the kernel with the
/// process. The lock is the `flock`; the file remains, and contains the id of its last holder. A server locks its
/// database too, which another folder may name.
struct FolderLock: ~Copyable {
    private let descriptor: Int32
    /// That of the database; nil before ``take(_:)``.
    private var database: Int32?

    /// Between two attempts.
    private static let pause = Duration.milliseconds(20)

    /// - Parameter patience: how long to wait, blocking this thread, for the holder: a command that reads a killed
    ///   server's store holds the lock while it applies the journal.
    /// - Throws: ``StoreFailure/Reason/locked(by:)`` when another server, in this or another process, holds it.
    ///   ``StoreFailure/Reason/linkedFile`` when a file of the store is one of another folder.
    init(folder: String, patience: Duration = .zero) throws(StoreFailure) {
        try StoreFolder.refuseLinks(in: folder)
        let path = StoreFolder.lock(in: folder)
        // The file is written below: not that of a link, which another user may have put in the folder.
        let descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw StoreFailure(errno: errno, path: path, operation: "open the lock file") }
        let deadline = ContinuousClock.now + patience
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            if errno == EWOULDBLOCK, ContinuousClock.now < deadline {
                usleep(UInt32(Self.pause / .microseconds(1)))
                continue
            }
            let failure = errno
            let holder = Self.readHolder(descriptor)
            close(descriptor)
            guard failure == EWOULDBLOCK else {
                throw StoreFailure(errno: failure, path: path, operation: "lock")
            }
            let who = holder.map { "another server (process \($0))" } ?? "another server"
            throw StoreFailure(.locked(by: holder), path: folder, detail: "\(who) is running on this folder")
        }
        // Only for the error message of others: the lock holds even if this write fails.
        let holder = "\(getpid())\n"
        _ = ftruncate(descriptor, 0)
        _ = holder.withCString { pwrite(descriptor, $0, strlen($0), 0) }
        self.descriptor = descriptor
    }

    /// Locks the database at `path` too. Call it once, before a connection to it is opened.
    ///
    /// Its descriptor is closed with this value: a process that closes one loses all its `fcntl` locks on the file, those
    /// of SQLite's connections included.
    mutating func take(_ path: String) throws(StoreFailure) {
        let descriptor = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw StoreFailure(errno: errno, path: path, operation: "open for writing") }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let failure = errno
            let holder = Self.holder(of: descriptor)
            close(descriptor)
            guard failure == EWOULDBLOCK else { throw StoreFailure(errno: failure, path: path, operation: "lock") }
            throw StoreFailure(
                .locked(by: holder), path: path,
                detail: "another server is running on this file, which is that of another folder too")
        }
        database = descriptor
    }

    deinit {
        if let database { close(database) }
        close(descriptor)
    }

    /// The process that holds the lock on a folder, without taking it; nil for none, and for one in another container.
    static func holder(of folder: String) -> Int32? {
        let descriptor = open(StoreFolder.lock(in: folder), O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        return holder(of: descriptor)
    }

    /// The process that holds the lock, by `/proc/locks` (proc(5)); nil when it is in another container.
    private static func holder(of descriptor: Int32) -> Int32? {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        let locks = (try? String(contentsOfFile: "/proc/locks", encoding: .utf8)) ?? ""
        for line in locks.split(separator: "\n") {
            let fields = line.split(separator: " ")
            // Major and minor number of the device, and the inode.
            guard fields.count > 5, fields[1] == "FLOCK",
                fields[5].split(separator: ":").last.flatMap({ ino_t($0) }) == status.st_ino
            else { continue }
            return Int32(fields[4]).flatMap { $0 > 0 ? $0 : nil }
        }
        return nil
    }

    private static func readHolder(_ descriptor: Int32) -> Int32? {
        withUnsafeTemporaryAllocation(byteCount: 16, alignment: 1) { buffer in
            let count = pread(descriptor, buffer.baseAddress, buffer.count, 0)
            guard count > 0 else { return nil }
            return Int32(String(decoding: buffer.prefix(count), as: UTF8.self).prefix { $0.isNumber })
        }
    }
}
