import ArgumentParser
import Foundation
import LoadTest
import UnixSignals

// From the start of the test to its report.

extension LoadCommand {
    /// - Throws: the exit code, after saying what was wrong.
    func run(_ plan: LoadPlan) async throws {
        let (began, stop) = (Moment.now, StopSignals())
        let record: LoadRecord
        do {
            var report = try await measure(plan, stop)
            report.judge(failIf)
            record = LoadRecord(
                plan: plan, report: report, environment: .current(version: ServeCommand.version), startedAt: began,
                isInterrupted: stop.first != nil)
        } catch {
            guard let signal = stop.first else { throw Terminal.unavailable(error) }
            Terminal.complain("reveille: ended before there was anything to report (\(error))")
            throw Exit.after(signal)
        }
        // Before the words: there may be no terminal any more, and then this is where the process ends.
        let written = Result { try files.write(record) }
        let text = LoadText(record: record, hasFigures: files.figures).lines
        if files.takesStandardOutput { text.forEach(Terminal.complain) } else { Terminal.print(text) }
        do {
            try written.get()
        } catch {
            throw Terminal.unavailable(error)
        }
        if let signal = stop.first { throw Exit.after(signal) }
        if record.report.hasFailed { throw Exit.failed }
    }

    private func measure(_ plan: LoadPlan, _ stop: StopSignals) async throws -> LoadReport {
        let line = LoadProgressLine()
        defer { line.clear() }
        let signals = await Interrupt.signalsAndHangups()
        let work = Task { try await LoadTest(plan: plan).run(progress: line.show) }
        let listener = Task {
            for await signal in signals {
                switch stop.take(signal.rawValue) {
                case .first:
                    line.note("stopping; once more ends it at once")
                    work.cancel()
                case .sameBurst: break
                case .again:
                    LoadTest.abandon()
                    Self.exit(withError: Exit.after(signal.rawValue))
                }
            }
        }
        defer { listener.cancel() }
        return try await work.value
    }
}

extension Exit {
    /// As shells report it: 130 for SIGINT.
    static func after(_ signal: Int32) -> ExitCode { ExitCode(128 + signal) }
}
