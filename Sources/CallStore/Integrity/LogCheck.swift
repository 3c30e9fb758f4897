import Foundation

/// The contents of a write-ahead log, read before SQLite opens it.
///
/// SQLite accepts frames up to the first with a wrong checksum, and ignores the rest silently
/// (sqlite.org/fileformat2.html#walformat). Later frames with the log's salt were written, and are lost.
enum LogCheck {
    case missing
    /// No frame was ever written, or the header is truncated.
    case empty
    /// The header's checksum is wrong: SQLite ignores the whole log.
    case badHeader
    case read(Contents)

    struct Contents {
        /// The number of valid frames from the start.
        var frames = 0
        /// Transactions that ended after those frames and are lost.
        var lostCommits = 0
        /// The database size in pages after the last valid transaction; 0 without one.
        var databasePages = 0
        /// In bytes.
        var pageSize = 0
        /// The pages written by those transactions.
        var pages: Set<UInt32> = []
    }

    private static let headerSize = 32
    private static let frameHeaderSize = 24

    static func of(_ path: String) -> LogCheck {
        guard StoreFolder.exists(path) else { return .missing }
        guard !StoreFolder.isPipeOrDevice(path) else { return .badHeader }
        // Memory-mapped: a log may be large, and no process writes it.
        guard let data = try? Data(contentsOf: URL(fileURLWithPath: path), options: .alwaysMapped) else {
            return .missing
        }
        return data.withUnsafeBytes { read($0) }
    }

    private static func read(_ bytes: UnsafeRawBufferPointer) -> LogCheck {
        guard bytes.count >= headerSize else { return .empty }
        // A power failure may leave a file whose first bytes were never written.
        guard bytes[..<headerSize].contains(where: { $0 != 0 }) else { return .empty }
        let magic = bytes.word(at: 0)
        guard magic & ~1 == 0x377F_0682 else { return .badHeader }
        var checksum = Checksum(isBigEndian: magic & 1 == 1)
        checksum.add(bytes, 0..<24)
        let pageSize = Int(bytes.word(at: 8))
        guard checksum.first == bytes.word(at: 24), checksum.second == bytes.word(at: 28), pageSize >= 512,
            pageSize <= 65536, pageSize.nonzeroBitCount == 1
        else { return .badHeader }
        return .read(frames(of: bytes, pageSize: pageSize, checksum))
    }

    private static func frames(of bytes: UnsafeRawBufferPointer, pageSize: Int, _ header: Checksum) -> Contents {
        let salt = (bytes.word(at: 16), bytes.word(at: 20))
        let frameSize = frameHeaderSize + pageSize
        let count = (bytes.count - headerSize) / frameSize
        func start(_ frame: Int) -> Int { headerSize + frame * frameSize }
        func bearsSalt(_ frame: Int) -> Bool {
            (bytes.word(at: start(frame) + 8), bytes.word(at: start(frame) + 12)) == salt
        }
        var checksum = header
        var contents = Contents()
        contents.pageSize = pageSize
        // The pages of a transaction that has not ended.
        var pages: Set<UInt32> = []
        while contents.frames < count, bearsSalt(contents.frames) {
            let offset = start(contents.frames)
            checksum.add(bytes, offset..<offset + 8)
            checksum.add(bytes, offset + frameHeaderSize..<offset + frameSize)
            guard checksum.first == bytes.word(at: offset + 16), checksum.second == bytes.word(at: offset + 20) else {
                break
            }
            contents.frames += 1
            pages.insert(bytes.word(at: offset))
            // The last frame of a transaction contains the database size.
            let databasePages = Int(bytes.word(at: offset + 4))
            guard databasePages > 0 else { continue }
            contents.databasePages = databasePages
            contents.pages.formUnion(pages)
            pages = []
        }
        contents.lostCommits = (contents.frames..<max(contents.frames, count)).count {
            bearsSalt($0) && bytes.word(at: start($0) + 4) != 0
        }
        return contents
    }

    /// The checksum of everything from the header on.
    private struct Checksum {
        let isBigEndian: Bool
        var first: UInt32 = 0
        var second: UInt32 = 0

        init(isBigEndian: Bool) { self.isBigEndian = isBigEndian }

        mutating func add(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) {
            for offset in stride(from: range.lowerBound, to: range.upperBound, by: 8) {
                let words = (
                    bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self),
                    bytes.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
                )
                first &+= (isBigEndian ? UInt32(bigEndian: words.0) : UInt32(littleEndian: words.0)) &+ second
                second &+= (isBigEndian ? UInt32(bigEndian: words.1) : UInt32(littleEndian: words.1)) &+ first
            }
        }
    }
}

extension UnsafeRawBufferPointer {
    /// A big-endian number, as in SQLite's files.
    func word(at offset: Int) -> UInt32 {
        UInt32(bigEndian: loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }
}
