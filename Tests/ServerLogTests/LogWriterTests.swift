import Foundation
import Glibc
import Logging
import Synchronization
import TestCleanup
import Testing

@testable import ServerLog

@Suite("The log's thread")
struct LogWriterTests {
    /// A pipe whose reading end nobody empties until the test does.
    private final class Pipe: Sendable {
        let reading: Int32
        let writing: Int32

        init() throws {
            var ends: [Int32] = [0, 0]
            try #require(pipe(&ends) == 0)
            (reading, writing) = (ends[0], ends[1])
        }

        deinit {
            close(reading)
            close(writing)
        }

        /// Reads until `end` was seen, for a limited time.
        func text(until end: String) -> String {
            var bytes: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 1 << 16)
            for _ in 0..<100_000 {
                var poll = pollfd(fd: reading, events: Int16(POLLIN), revents: 0)
                guard Glibc.poll(&poll, 1, 10_000) == 1 else { break }
                let count = read(reading, &buffer, buffer.count)
                guard count > 0 else { break }
                bytes += buffer.prefix(count)
                if String(decoding: bytes.suffix(count + 256), as: UTF8.self).contains(end) { break }
            }
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    private static func log(_ pipe: Pipe, capacity: Int = LogWriter.capacity, level: Logger.Level = .info) throws
        -> ServerLog
    {
        ServerLog(
            levels: LogLevels(level),
            writer: try LogWriter(descriptor: pipe.writing, layout: LogLayout(.json), capacity: capacity))
    }

    /// Reads until each of this number of lines has come, or was reported as dropped; for a limited time.
    private static func linesRead(_ sent: Int, from pipe: Pipe) -> (lines: [Substring], reports: [Substring]) {
        var (lines, reports) = ([Substring](), [Substring]())
        var (rest, dropped) = ("", 0)
        while lines.count + dropped < sent {
            let more = pipe.text(until: "\n")
            guard !more.isEmpty else { break }
            let parts = (rest + more).split(separator: "\n", omittingEmptySubsequences: false)
            rest = parts.last.map(String.init) ?? ""
            for line in parts.dropLast() {
                if let count = reported(line) {
                    reports.append(line)
                    dropped += count
                } else {
                    lines.append(line)
                }
            }
        }
        return (lines, reports)
    }

    /// How many lines were dropped, as this line reports; nil for another line.
    private static func reported(_ line: Substring) -> Int? {
        guard line.contains(#""logger":"log""#), let key = line.range(of: #""message":""#) else { return nil }
        return Int(line[key.upperBound...].prefix { $0 != " " })
    }

    @Test("lines come out in order, with the logger's metadata under the line's own")
    func order() throws {
        let pipe = try Pipe()
        let log = try Self.log(pipe)
        var logger = log.logger("part")
        logger[metadataKey: "a"] = "logger"
        logger[metadataKey: "b"] = "logger"
        for number in 0..<100 { logger.info("line \(number)", metadata: ["b": "line"]) }
        #expect(log.flush(within: .seconds(40)))
        let lines = pipe.text(until: "line 99").split(separator: "\n")
        #expect(lines.count == 100)
        for (number, line) in lines.enumerated() {
            #expect(
                line.contains("\"logger\":\"part\",\"message\":\"line \(number)\",\"a\":\"logger\",\"b\":\"line\"}"))
        }
        #expect(log.linesDropped == 0 && log.failure == nil)
    }

    @Test("a level changed at run time holds for loggers and copies made before; one with a level of its own keeps it")
    func levels() throws {
        let pipe = try Pipe()
        let log = try Self.log(pipe, level: .warning)
        let logger = log.logger("a")
        var copy = logger
        copy[metadataKey: "k"] = "v"
        var own = logger
        own.logLevel = .error
        let isMade = Mutex(false)
        func text() -> Logger.Message {
            isMade.withLock { $0 = true }
            return "unheard"
        }
        logger.info(text())
        #expect(!isMade.withLock { $0 })
        log.levels.set(.debug)
        #expect(log.levels.level == .debug && logger.logLevel == .debug && copy.logLevel == .debug)
        logger.debug("one")
        copy.debug("two")
        own.warning("unheard")
        log.levels.set(.critical)
        logger.error("unheard")
        own.error("three")
        #expect(log.flush(within: .seconds(40)))
        let lines = pipe.text(until: "three").split(separator: "\n")
        #expect(lines.count == 3 && !lines.contains { $0.contains("unheard") })
    }

    @Test("a pipe that nobody reads holds nobody up: what does not fit is counted, and said when there is room again")
    func stalled() throws {
        let pipe = try Pipe()
        let log = try Self.log(pipe, capacity: 100)
        let logger = log.logger("a")
        let padding = String(repeating: "x", count: 1000)
        let sent = 2000
        // 2 MB for a pipe of 64 KiB.
        for number in 0..<sent { logger.info("line \(number)", metadata: ["p": "\(padding)"]) }
        let dropped = log.linesDropped
        #expect(dropped > 1000)
        #expect(!log.flush(within: .milliseconds(50)))
        // There is no room for a plain line now, and there is for an error.
        logger.error("an error")
        #expect(log.linesDropped == dropped)
        // More than one report, where a little room came up while there was still much to drop.
        let (lines, reports) = Self.linesRead(sent + 1, from: pipe)
        #expect(log.flush(within: .seconds(40)))
        #expect(reports.compactMap(Self.reported).reduce(0, +) == Int(dropped))
        #expect(reports.allSatisfy { $0.contains(#""level":"warning""#) && $0.hasSuffix(#" dropped"}"#) })
        #expect(lines.count { $0.contains("\"message\":\"line ") } == sent - Int(dropped))
        #expect(lines.last?.contains(#""message":"an error""#) == true)
        logger.info("the last")
        #expect(pipe.text(until: "the last").split(separator: "\n").count == 1)
    }

    @Test("errors beyond their own room are dropped too, and said apart")
    func errorsDropped() throws {
        let pipe = try Pipe()
        let log = try Self.log(pipe, capacity: 10)
        let logger = log.logger("a")
        let padding = String(repeating: "x", count: 1000)
        // Three times the capacity: one in the batch being written, one in the queue, and one to drop.
        let (sent, room) = (3200, 10 + LogWriter.errorReserve)
        for number in 0..<sent { logger.error("line \(number)", metadata: ["p": "\(padding)"]) }
        let dropped = Int(log.linesDropped)
        #expect((1...sent - room).contains(dropped))
        // More than one report, where a little room came up meanwhile.
        let (lines, reports) = Self.linesRead(sent, from: pipe)
        #expect(lines.count == sent - dropped)
        #expect(reports.compactMap(Self.reported).reduce(0, +) == dropped)
        #expect(reports.contains { $0.contains(#""level":"error""#) })
        let errors = reports.compactMap { report in
            report.range(of: #" dropped","errors":"#).flatMap { Int(report[$0.upperBound...].dropLast()) }
        }
        #expect(errors.reduce(0, +) == dropped)
        #expect(log.flush(within: .seconds(40)))
    }

    @Test("a pipe whose reader has gone costs nothing and stops nothing")
    func gone() throws {
        let pipe = try Pipe()
        let log = try Self.log(pipe)
        let nothing = open("/dev/null", O_RDONLY | O_CLOEXEC)
        defer { close(nothing) }
        #expect(dup2(nothing, pipe.reading) == pipe.reading)
        log.logger("a").info("nobody hears this")
        #expect(log.flush(within: .seconds(40)))
        #expect(log.linesDropped == 1 && log.failure == String(cString: strerror(EPIPE)))
    }

    @Test("lines that a full disk does not take are counted, each once")
    func full() throws {
        let full = open("/dev/full", O_WRONLY | O_CLOEXEC)
        try #require(full >= 0)
        defer { close(full) }
        let log = ServerLog(
            levels: LogLevels(.info), writer: try LogWriter(descriptor: full, layout: LogLayout(.json)))
        let sheet = LineSheet(log.logger("a"))
        for round in 1...3 {
            log.logger("a").info("one line")
            for number in 0..<2 {
                sheet.begin(.info, "line \(number)")
                sheet.end()
            }
            sheet.flush()
            #expect(log.flush(within: .seconds(40)))
            #expect(log.linesDropped == UInt64(3 * round))
            #expect(log.failure == String(cString: strerror(ENOSPC)))
        }
    }

    @Test("what was logged right before its log is released is written")
    func released() throws {
        for _ in 0..<200 {
            let pipe = try Pipe()
            do {
                let log = try Self.log(pipe)
                log.logger("a").info("the last words")
            }
            try #require(pipe.text(until: "\n").contains("the last words"))
        }
    }

    // In a process of their own: exit tests block the threads of Swift's pool.

    @Test("what waits is written before the process exits", .ownProcess)
    func exit() async {
        let result = await #expect(processExitsWith: .exitCode(3), observing: [\.standardErrorContent]) {
            let logger = try ServerLog.standardError(format: .json).logger("a")
            for number in 0..<1000 { logger.info("line \(number)") }
            Glibc.exit(3)
        }
        #expect(Self.lines(result) == 1000)
    }

    @Test("what waits is written before a trap ends the process, which still ends by the trap's signal", .ownProcess)
    func trap() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let logger = try ServerLog.standardError(format: .json).logger("a")
            for number in 0..<1000 { logger.info("line \(number)") }
            Glibc.abort()
        }
        #expect(Self.lines(result) == 1000)
        #expect(result?.exitStatus == .signal(SIGABRT))
    }

    private static func lines(_ result: ExitTest.Result?) -> Int {
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        return text.split(separator: "\n").count { $0.contains("\"logger\":\"a\",\"message\":\"line ") }
    }
}
