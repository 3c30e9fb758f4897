/// A component that is measured by itself.
public enum BenchmarkPart: String, CaseIterable, Codable, Sendable {
    case codec, core, calls, timers, store

    /// - Parameter progress: called with the number of each completed round.
    /// - Throws: ``BenchmarkError`` and `StoreFailure`: no result.
    public func measure(_ settings: PartSettings, progress: (_ round: Int) -> Void) async throws -> PartReport {
        switch self {
        case .codec: try CodecBenchmark(settings: settings).run(progress: progress)
        case .core: try CoreBenchmark(settings: settings).run(progress: progress)
        case .calls: try await CallsBenchmark(settings: settings).run(progress: progress)
        case .timers: try TimersBenchmark(settings: settings).run(progress: progress)
        case .store: try await StoreBenchmark(settings: settings).run(progress: progress)
        }
    }
}
