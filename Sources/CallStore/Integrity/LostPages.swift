import Foundation

/// Looks for pages that a database has by its own word, and that neither its file nor its write-ahead log holds: the
/// file was cut off. While there is a log, SQLite takes the size from there and opens such a file without a word
/// (`lockBtree` of its `btree.c`).
///
/// In WAL mode every page that a transaction has added goes to the log, free ones too, and a checkpoint that merges the
/// whole log leaves the file as long as the database.
enum LostPages {
    private static let headerSize = 100
    private static let magic = Array("SQLite format 3\0".utf8)

    /// - Parameters:
    ///   - path: of the database, which nobody writes.
    ///   - log: what was found in its log.
    /// - Returns: how many are lost. 0 for what is no database, which whoever opens it says.
    static func count(in path: String, log: LogCheck) -> Int {
        guard let file = FileHandle(forReadingAtPath: path), let header = try? file.read(upToCount: headerSize) else {
            return 0
        }
        guard header.count < magic.count || header.starts(with: magic) else { return 0 }
        var contents = LogCheck.Contents()
        if case .read(let read) = log { contents = read }
        guard let size = size(by: contents) ?? size(in: header) else { return 0 }
        let inFile = Int(StoreFolder.size(path)) / size.ofPage
        guard size.pages > inFile else { return 0 }
        let ends = inFile + 1...size.pages
        // The page with the bytes for locks at 1 GiB is never written.
        let unwritten = ends.contains(0x4000_0000 / size.ofPage + 1) ? 1 : 0
        return ends.count - unwritten - contents.pages.count { ends.contains(Int($0)) }
    }

    private static func size(by log: LogCheck.Contents) -> (pages: Int, ofPage: Int)? {
        log.databasePages > 0 ? (log.databasePages, log.pageSize) : nil
    }

    private static func size(in header: Data) -> (pages: Int, ofPage: Int)? {
        guard header.count == headerSize else { return nil }
        return header.withUnsafeBytes { header in
            // 65,536 does not fit there and is written as 1.
            let word = Int(header.word(at: 16) >> 16)
            let pageSize = word == 1 ? 65536 : word
            // The size counts where it is as old as the change counter.
            guard pageSize >= 512, header.word(at: 24) == header.word(at: 92) else { return nil }
            return (Int(header.word(at: 28)), pageSize)
        }
    }
}
