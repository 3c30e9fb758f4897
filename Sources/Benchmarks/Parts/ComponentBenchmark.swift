import CallStore
import Foundation

/// Measures the figures of one component, once a round.
protocol ComponentBenchmark {
    var part: BenchmarkPart { get }
    var settings: PartSettings { get }
    var work: String { get }
    var writesToDisk: Bool { get }

    /// Measures each figure once.
    /// - Parameter folder: empty; removed after the last round.
    func measure(in folder: String, _ readings: inout Readings) async throws
}

extension ComponentBenchmark {
    /// - Parameter progress: called with the number of each completed round.
    /// - Throws: ``BenchmarkError`` and `StoreFailure`.
    func run(progress: (_ round: Int) -> Void) async throws -> PartReport {
        let folder = NSTemporaryDirectory() + "bench-\(UUID().uuidString.prefix(8))"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var readings = Readings()
        for round in 1...settings.rounds {
            let own = "\(folder)/\(round)"
            try FileManager.default.createDirectory(atPath: own, withIntermediateDirectories: true)
            try await measure(in: own, &readings)
            progress(round)
        }
        let fileSystem = writesToDisk ? FileSystem(of: NSTemporaryDirectory()) : nil
        return PartReport(part, work: work, rounds: settings.rounds, readings, dataOn: fileSystem)
    }
}
