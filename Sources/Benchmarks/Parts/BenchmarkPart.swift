/// A component with its own benchmark.
public enum BenchmarkPart: String, CaseIterable, Codable, Sendable {
    case codec, core, calls, timers, payloads, store

    /// - Parameter progress: called with the number of each completed round.
    /// - Throws: ``BenchmarkError``, `StoreFailure` and `PushRequest.Fault`.
    public func measure(_ settings: PartSettings, progress: (_ round: Int) -> Void) async throws -> PartReport {
        let benchmark: any ComponentBenchmark =
            switch self {
            case .codec: CodecBenchmark(settings: settings)
            case .core: CoreBenchmark(settings: settings)
            case .calls: CallsBenchmark(settings: settings)
            case .timers: TimersBenchmark(settings: settings)
            case .payloads: PayloadsBenchmark(settings: settings)
            case .store: StoreBenchmark(settings: settings)
            }
        return try await benchmark.run(progress: progress)
    }
}
