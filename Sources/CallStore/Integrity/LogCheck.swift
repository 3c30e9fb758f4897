import Foundation

/// What a write-ahead log file holds, read byte by byte before SQLite opens it.
///
/// SQLite takes the frames up to the first that does not match its checksum and passes over the rest without a word
/// (sqlite.org/fileformat2.html#walformat): frames behind it that bear the salt of the log were written, and are lost.
enum LogCheck: Equatable {
    case missing
    /// No frame was ever written, or the header is cut off.
    case empty
    /// The header does not match its checksum: SQLite passes over the whole log.
    case badHeader
    /// Frames through `frames` match. Behind them there are transactions of this log that ended and are lost.
    case read(frames: Int, lostCommits: Int)

    private static let headerSize = 32
    private static let frameHeaderSize = 24

    static func of(_ path: String) -> LogCheck {
        guard StoreFolder.exists(path) else { return .missing }
        // Mapped: a log may be large, and nobody writes it.
        guard let data = try? Data(contentsOf: URL(fileURLWithPath: path), options: .alwaysMapped) else {
            return .missing
        }
        return data.withUnsafeBytes { read($0) }
    }

    private static func read(_ bytes: UnsafeRawBufferPointer) -> LogCheck {
        guard bytes.count >= headerSize else { return .empty }
        // A power failure may leave a file whose first bytes never came.
        guard bytes[..<headerSize].contains(where: { $0 != 0 }) else { return .empty }
        let magic = word(bytes, 0)
        guard magic & ~1 == 0x377F_0682 else { return .badHeader }
        var checksum = Checksum(isBigEndian: magic & 1 == 1)
        checksum.add(bytes, 0..<24)
        let pageSize = Int(word(bytes, 8))
        guard checksum.first == word(bytes, 24), checksum.second == word(bytes, 28), pageSize >= 512, pageSize <= 65536
        else { return .badHeader }
        let salt = (word(bytes, 16), word(bytes, 20))
        let frameSize = frameHeaderSize + pageSize
        let count = (bytes.count - headerSize) / frameSize
        func start(_ frame: Int) -> Int { headerSize + frame * frameSize }
        func bearsSalt(_ frame: Int) -> Bool {
            (word(bytes, start(frame) + 8), word(bytes, start(frame) + 12)) == salt
        }
        var valid = 0
        while valid < count, bearsSalt(valid) {
            let offset = start(valid)
            checksum.add(bytes, offset..<offset + 8)
            checksum.add(bytes, offset + frameHeaderSize..<offset + frameSize)
            guard checksum.first == word(bytes, offset + 16), checksum.second == word(bytes, offset + 20) else { break }
            valid += 1
        }
        // The size of the database stands in the frame that ends a transaction.
        let lost = (valid..<max(valid, count)).count { bearsSalt($0) && word(bytes, start($0) + 4) != 0 }
        return .read(frames: valid, lostCommits: lost)
    }

    private static func word(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt32 {
        UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }

    /// Over everything from the header on.
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
