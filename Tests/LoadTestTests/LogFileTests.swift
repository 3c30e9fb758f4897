import Foundation
import Glibc
import Testing

@testable import LoadTest

@Suite("The log of a process of a run") struct LogFileTests {
    /// A file, open for writing, that is removed when the body is over.
    private func withFile(_ body: (_ log: LogFile, _ writer: FileHandle) throws -> Void) throws {
        let path = NSTemporaryDirectory() + "load-log-\(UUID().uuidString)"
        #expect(FileManager.default.createFile(atPath: path, contents: nil))
        defer { try? FileManager.default.removeItem(atPath: path) }
        let writer = try #require(FileHandle(forWritingAtPath: path))
        try body(LogFile(path: path), writer)
        try writer.close()
    }

    private func bytesOnDisk(_ log: LogFile) -> Int {
        var status = stat()
        return stat(log.path, &status) == 0 ? Int(status.st_blocks) * 512 : -1
    }

    @Test(
        "has lines that people can read",
        arguments: [
            (
                #"{"time":"2026-05-04T10:20:30.123Z","level":"error","logger":"store","message":"the \"disk\" is full","path":"/x","free":17}"#,
                #"10:20:30 error: the "disk" is full, free 17, path /x"#
            ),
            (#"{"message":"ready"}"#, "ready"), (#"{"level":"info"}"#, #"{"level":"info"}"#),
            ("Fatal error: it ends", "Fatal error: it ends"), ("", ""),
        ])
    func readable(line: String, words: String) {
        #expect(LogLine.readable(line) == words)
    }

    @Test("is read from its end, however long it is")
    func tail() throws {
        try withFile { log, writer in
            #expect(log.lastLines.isEmpty)
            try writer.write(contentsOf: Data("one\n\ntwo\nthr".utf8))
            #expect(log.lastLines == ["one", "two", "thr"])
            // 64 GiB, of which nothing is on the disk.
            try writer.truncate(atOffset: 1 << 36)
            try writer.seek(toOffset: 1 << 36)
            try writer.write(contentsOf: Data("\nlast but one\nlast\n".utf8))
            let began = ContinuousClock.now
            #expect(log.lastLines == ["last but one", "last"])
            // To read all of it takes longer, and more memory than there is.
            #expect(began.duration(to: .now) < .seconds(10))
        }
        #expect(LogFile(path: "/no/such/file").lastLines.isEmpty)
    }

    @Test("takes little of the disk however much is written, and keeps its last words")
    func trimmed() throws {
        try withFile { log, writer in
            let part = Data(String(repeating: "one line of the log\n", count: 100_000).utf8)
            for _ in 0..<8 {
                try writer.write(contentsOf: part)
                log.trim()
                #expect(bytesOnDisk(log) <= 2 << 20)
            }
            // The writer goes on where it was.
            try writer.write(contentsOf: Data("the end\n".utf8))
            #expect(log.lastLines.suffix(2) == ["one line of the log", "the end"])
            #expect(try writer.offset() == UInt64(8 * part.count + 8))
        }
    }
}
