import ChildProcess
import Foundation

/// Runs Debian's h2load with the same pushes.
struct H2Load {
    private static let patience = Duration.seconds(120)

    private let program: String
    private let target: PushTarget
    private let work: PushWork
    /// The cost of its start, files and connections, which the other contenders exclude.
    private var start: Sample?

    init(target: PushTarget, work: PushWork) async throws {
        program = try ChildProcess.find("h2load", package: "nghttp2-client")
        self.target = target
        self.work = work
        let uris = work.paths.map { "https://127.0.0.1:\(target.port)\($0)\n" }
        try Data(uris.joined().utf8).write(to: URL(fileURLWithPath: target.folder + "/uris"))
        try Data(work.body).write(to: URL(fileURLWithPath: target.folder + "/body"))
        start = try await measure(requests: work.size.connections)
    }

    func run() async throws -> Sample {
        let sample = try await measure(requests: work.size.pushes)
        guard let start else { return sample }
        // A run not much longer than its start would leave no meaningful difference.
        return Sample(
            count: sample.count, seconds: max(sample.seconds - start.seconds, sample.seconds / 2),
            userSeconds: max(sample.userSeconds - start.userSeconds, sample.userSeconds / 2),
            systemSeconds: max(sample.systemSeconds - start.systemSeconds, sample.systemSeconds / 2))
    }

    private func measure(requests: Int) async throws -> Sample {
        let fields = work.constantFields.flatMap { ["-H", "\($0.name): \($0.value)"] }
        let result = try await ChildProcess.run(
            program,
            [
                "-n", "\(requests)", "-c", "\(work.size.connections)", "-m", "\(work.size.streams)", "-t", "1",
                "-d", target.folder + "/body", "-i", target.folder + "/uris",
            ] + fields, within: Self.patience)
        let (text, usage) = (result.output, result.usage)
        guard result.ending == .exit(0), let seconds = Self.seconds(in: text) else {
            throw BenchmarkError("h2load failed: \(text.suffix(500))")
        }
        guard text.contains("\nstatus codes: \(requests) 2xx,") else {
            throw BenchmarkError("not every request of h2load got status 200: \(text.suffix(500))")
        }
        return Sample(
            count: requests, seconds: seconds, userSeconds: usage.userSeconds, systemSeconds: usage.systemSeconds)
    }

    /// Parses its line `finished in 1.25s, 48045.78 req/s, 1.24MB/s`.
    static func seconds(in text: String) -> Double? {
        guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix("finished in ") }) else { return nil }
        let word = line.dropFirst("finished in ".count).prefix { $0 != "," }
        let units: [(String, Double)] = [("us", 1e-6), ("ms", 1e-3), ("s", 1)]
        for (unit, factor) in units where word.hasSuffix(unit) {
            return Double(word.dropLast(unit.count)).map { $0 * factor }
        }
        return nil
    }
}
