import EventLoop
import Foundation
import Glibc
import StoreInterface

/// The number of the last acknowledged commit, in a file beside the store: `reveille.mark`, from the start of a server
/// to its clean stop.
///
/// It is written, not synced, after a commit is durable and before it is acknowledged. After a kill it is exact,
/// because the kernel keeps written data; after a power failure it may be older than the truth, never newer. Files that
/// hold less than the mark have lost data.
final class CommitMark {
    struct Content: Equatable {
        var store: Data
        /// The last commit that was acknowledged.
        var through: Int64
        /// The boot id of the kernel at that time: ``bootID``.
        var boot: Data

        static let size = 64
        private static let magic = Data("revmark1".utf8)

        init(store: Data, through: Int64, boot: Data) {
            self.store = store
            self.through = through
            self.boot = boot
        }

        /// - Returns: nil when the bytes are no mark, or the checksum does not match.
        init?(bytes: Data) {
            let bytes = Data(bytes)
            guard bytes.count == Self.size, bytes[..<8] == Self.magic else { return nil }
            store = Data(bytes[8..<24])
            boot = Data(bytes[24..<40])
            through = bytes.withUnsafeBytes {
                Int64(littleEndian: $0.loadUnaligned(fromByteOffset: 40, as: Int64.self))
            }
            guard bytes == self.bytes else { return nil }
        }

        var bytes: Data {
            var bytes = Self.magic + store.prefix(16) + boot.prefix(16)
            withUnsafeBytes(of: through.littleEndian) { bytes.append(contentsOf: $0) }
            let checksum = bytes.withUnsafeBytes { EntryChecksum.of($0, entry: through, store: store) }
            withUnsafeBytes(of: checksum.littleEndian) { bytes.append(contentsOf: $0) }
            bytes.append(contentsOf: [UInt8](repeating: 0, count: Self.size - bytes.count))
            return bytes
        }
    }

    enum Found: Equatable {
        case missing
        /// Not a mark, or damaged.
        case unreadable
        case mark(Content)
    }

    let descriptor: Int32
    private let path: String
    private var content: Content

    /// Creates the mark of a store that is being opened, and syncs it.
    init(_ path: String, store: Data, through: Int64, ownedAs database: String) throws(StoreFailure) {
        content = Content(store: store, through: through, boot: Self.bootID)
        self.path = path
        try StoreFolder.remove(path)
        try StoreFolder.createDraft(path, ownedAs: database)
        descriptor = open(path, O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw StoreFailure(errno: errno, path: path, operation: "open for writing") }
        try note(through)
        guard fsync(descriptor) == 0 else { throw StoreFailure(errno: errno, path: path, operation: "sync") }
        try StoreFolder.sync(StoreFolder.folder(of: path))
    }

    deinit { close(descriptor) }

    /// Records that commits up to this one are durable and will be acknowledged.
    func note(_ through: Int64) throws(StoreFailure) {
        content.through = through
        let bytes = content.bytes
        let written = bytes.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
        guard written == bytes.count else {
            throw StoreFailure(errno: written < 0 ? errno : ENOSPC, path: path, operation: "write")
        }
    }

    static func read(_ path: String) -> Found {
        do throws(SystemError) {
            guard let bytes = try PrivateFile.read(path) else { return .missing }
            return Content(bytes: Data(bytes)).map { .mark($0) } ?? .unreadable
        } catch {
            return .unreadable
        }
    }

    /// The kernel's random id of this boot; zeros, which no kernel draws, when it is unknown.
    static let bootID: Data = {
        let text = (try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)) ?? ""
        guard let uuid = UUID(uuidString: text.trimmingCharacters(in: .whitespacesAndNewlines)) else {
            return Data(repeating: 0, count: 16)
        }
        return withUnsafeBytes(of: uuid.uuid) { Data($0) }
    }()
}

@available(*, unavailable)
extension CommitMark: Sendable {}
