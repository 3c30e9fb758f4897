import Dispatch
import EventLoop
import Foundation
import InMemoryLogging
import Logging
import TestCleanup
import Testing

@testable import ServerLog

@Suite("Sheets of lines")
struct LineSheetTests {
    /// A log that writes into a file without a name.
    private struct Memory {
        let log: ServerLog
        private let descriptor: Int32

        init(_ shape: LogLayout.Shape, level: Logger.Level = .info, capacity: Int = LogWriter.capacity) throws {
            let path = NSTemporaryDirectory() + "lines-\(UUID().uuidString)"
            descriptor = open(path, O_RDWR | O_CREAT | O_EXCL, 0o600)
            try #require(descriptor >= 0)
            unlink(path)
            log = ServerLog(
                levels: LogLevels(level),
                writer: try LogWriter(descriptor: descriptor, layout: LogLayout(shape), capacity: capacity))
        }

        /// What was written; closes it.
        func lines() throws -> [String] {
            defer { close(descriptor) }
            try #require(log.flush(within: .seconds(40)))
            var bytes = [UInt8](repeating: 0, count: 1 << 20)
            let count = pread(descriptor, &bytes, bytes.count, 0)
            return String(decoding: bytes.prefix(count), as: UTF8.self).split(separator: "\n").map(String.init)
        }
    }

    /// The same line, field by field.
    private static func write(_ sheet: LineSheet) {
        sheet.begin(.warning, "call \"ringing\"\n")
        sheet.add("a", "two words")
        sheet.add("b", -1_234_567_890_123)
        sheet.add("c", true)
        sheet.add("d", plain: 4) { $0.copyBytes(from: "ab-1".utf8) }
        sheet.add("e", "häß\u{1B}")
        sheet.add("message", 0)
        sheet.end()
    }

    private static let metadata: Logger.Metadata = [
        "a": "two words", "b": .stringConvertible(Int64(-1_234_567_890_123)), "c": .stringConvertible(true),
        "d": "ab-1", "e": "häß\u{1B}", "message": .stringConvertible(0),
    ]

    /// Without its time.
    private static func timeless(_ line: String) -> Substring {
        line.hasPrefix("{") ? line.dropFirst("{\"time\":\"2026-03-01T08:30:00.125Z\"".count) : line.dropFirst(23)
    }

    @Test("a sheet follows the log's level, and one of a logger with a level of its own that one")
    func levels() throws {
        let levels = LogLevels(.info)
        let log = ServerLog(levels: levels, writer: try LogWriter(descriptor: STDERR_FILENO, layout: LogLayout(.json)))
        var own = log.logger("part")
        own.logLevel = .error
        let (shared, single) = (LineSheet(log.logger("part")), LineSheet(own))
        #expect(shared.writes(.info) && !shared.writes(.debug) && !single.writes(.warning))
        levels.set(.debug)
        #expect(shared.writes(.debug) && !shared.writes(.trace) && !single.writes(.warning))
    }

    /// In a process of its own: an exit test blocks a thread of Swift's pool.
    @Test("an error is no line of a sheet", .ownProcess)
    func errors() async {
        await #expect(processExitsWith: .failure) {
            LineSheet(Logger(label: "test")).begin(.error, "it is broken")
        }
        LineSheet(Logger(label: "test")).begin(.warning, "it may be broken")
    }

    @Test(
        "a line of a sheet is the line that the logger would have written",
        arguments: [LogLayout.Shape.json, .text(colour: false), .text(colour: true)])
    func sameLine(shape: LogLayout.Shape) throws {
        let memory = try Memory(shape)
        let logger = memory.log.logger("part")
        let sheet = LineSheet(logger)
        Self.write(sheet)
        sheet.flush()
        logger.warning("call \"ringing\"\n", metadata: Self.metadata)
        let lines = try memory.lines()
        #expect(lines.count == 2 && Self.timeless(lines[0]) == Self.timeless(lines[1]))
        #expect(lines[0].contains("ringing") && lines[0].contains("-1234567890123") && lines[0].contains("ab-1"))
    }

    @Test("lines of all levels stand in order, with those of the logger where the sheet was handed on")
    func order() throws {
        let memory = try Memory(.json, level: .debug)
        let logger = memory.log.logger("part")
        let sheet = LineSheet(logger)
        let levels: [Logger.Level] = [.info, .debug, .debug, .warning, .info]
        for (number, level) in levels.enumerated() {
            sheet.begin(level, "line \(number)")
            sheet.end()
        }
        #expect(sheet.writes(.debug) && !sheet.writes(.trace))
        logger.info("before")
        sheet.flush()
        sheet.flush()
        logger.info("after")
        let lines = try memory.lines()
        #expect(lines.count == levels.count + 2)
        #expect(lines[0].contains("before") && lines.last?.contains("after") == true)
        for (number, level) in levels.enumerated() {
            #expect(
                lines[number + 1].contains("\"level\":\"\(level)\",\"logger\":\"part\",\"message\":\"line \(number)\"}")
            )
        }
    }

    @Test("more lines than fit are handed on by themselves; what the log has no room for is counted line by line")
    func room() throws {
        let memory = try Memory(.json, capacity: 300)
        let sheet = LineSheet(memory.log.logger("part"))
        // The thread takes nothing meanwhile.
        let gate = DispatchSemaphore(value: 0)
        memory.log.writer.loop.execute { gate.wait() }
        for number in 0..<600 {
            sheet.begin(.info, "line \(number)")
            sheet.end()
        }
        sheet.flush()
        // The first 256 came in; the next 256 did not, nor did the last 88.
        #expect(memory.log.linesDropped == 344)
        gate.signal()
        let lines = try memory.lines()
        #expect(lines.count { $0.contains("\"message\":\"line ") } == 256)
        #expect(lines.contains { $0.contains("344 lines dropped") })
    }

    @Test("a logger of another kind, or with metadata of its own, logs the lines itself")
    func otherLoggers() throws {
        let handler = InMemoryLogHandler()
        let sheet = LineSheet(Logger(label: "other") { _ in handler })
        Self.write(sheet)
        #expect(handler.entries.map(\.level) == [.warning])
        #expect(handler.entries.first?.metadata.mapValues { "\($0)" } == Self.metadata.mapValues { "\($0)" })

        let memory = try Memory(.json)
        var logger = memory.log.logger("part")
        logger[metadataKey: "own"] = "mine"
        let own = LineSheet(logger)
        Self.write(own)
        let written = try memory.lines()
        #expect(written.count == 1 && written[0].contains("\"own\":\"mine\"") && written[0].contains("\"d\":\"ab-1\""))
    }
}
