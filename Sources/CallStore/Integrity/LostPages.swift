import Foundation

/// Counts pages that the database header claims, and neither the file nor its write-ahead log holds: the file was
/// truncated. While there is a log, SQLite takes the size from it and opens such a file silently (`lockBtree` in
/// `btree.c`).
///
/// In WAL mode every page that a transaction adds goes to the log, free ones too, and a complete checkpoint leaves the
/// file as long as the database.
enum LostPages {
    private static let headerSize = 100
    private static let magic = Array("SQLite format 3\0".utf8)

    /// - Parameters:
    ///   - path: the database, which no process writes.
    ///   - log: the check of its log.
    /// - Returns: the number of lost pages; 0 for a file that is no database, which opening it will report.
    static func count(in path: String, log: LogCheck) -> Int {
        guard !StoreFolder.isPipeOrDevice(path), let file = FileHandle(forReadingAtPath: path),
            let header = try? file.read(upToCount: headerSize)
        else { return 0 }
        guard header.count < magic.count || header.starts(with: magic) else { return 0 }
        var contents = LogCheck.Contents()
        if case .read(let read) = log { contents = read }
        guard let size = size(by: contents) ?? size(in: header) else { return 0 }
        let inFile = Int(StoreFolder.size(path)) / size.ofPage
        guard size.pages > inFile else { return 0 }
        let ends = inFile + 1...size.pages
        // The page with the lock bytes at 1 GiB is never written.
        let unwritten = ends.contains(0x4000_0000 / size.ofPage + 1) ? 1 : 0
        return ends.count - unwritten - contents.pages.count { ends.contains(Int($0)) }
    }

    private static func size(by log: LogCheck.Contents) -> (pages: Int, ofPage: Int)? {
        log.databasePages > 0 ? (log.databasePages, log.pageSize) : nil
    }

    private static func size(in header: Data) -> (pages: Int, ofPage: Int)? {
        guard header.count == headerSize else { return nil }
        return header.withUnsafeBytes { header in
            // 65,536 does not fit the field and is written as 1.
            let word = Int(header.word(at: 16) >> 16)
            let pageSize = word == 1 ? 65536 : word
            // The size is valid only if its version equals the change counter.
            guard pageSize >= 512, pageSize.nonzeroBitCount == 1, header.word(at: 24) == header.word(at: 92) else {
                return nil
            }
            return (Int(header.word(at: 28)), pageSize)
        }
    }
}
