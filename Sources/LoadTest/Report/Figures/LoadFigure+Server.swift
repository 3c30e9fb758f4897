extension LoadFigure {
    /// The cost at the server.
    public enum Server: String, LoadFigureKind {
        case cores = "server_cores"
        case cpuPerPiece = "server_cpu_per_piece"
        case cpuPerLeg = "server_cpu_per_leg"
        case coresByMetrics = "server_cores_by_metrics"
        case cpuPerPieceByMetrics = "server_cpu_per_piece_by_metrics"
        case calls = "server_calls"
        case resumed = "server_resumed"
        case start = "server_start"
        case memoryBefore = "server_memory_before"
        case memoryOpen = "server_memory_open"
        case memoryAfter = "server_memory_after"
        case memoryPerSession = "server_memory_per_session"
        case memoryPerSessionByMetrics = "server_memory_per_session_by_metrics"
        case memoryGrowth = "server_memory_growth"
        case descriptorsStart = "server_descriptors_start"
        case descriptorsMax = "server_descriptors_max"
        case descriptorsEnd = "server_descriptors_end"
        case homeKills = "home_kills"
        case homeGapMedian = "home_gap_p50"
        case homeGapMax = "home_gap_max"

        public static let group = Figure.Group.server
        /// With fewer, fixed memory of the server dominates.
        static let fewestSessions = 1_000
        /// In less time, memory grows with what a server keeps once for all.
        static let growthSeconds = 300

        public var meaning: Meaning {
            switch self {
            case .cores:
                (
                    .cores,
                    "CPU time of the server by wall time in the measured part, from the kernel: 1 is one core"
                )
            case .cpuPerPiece:
                (.microseconds, "CPU time of the server per completed operation in the measured part, from the kernel")
            case .cpuPerLeg: (.microseconds, "fanout: CPU time of the server per device called, from the kernel")
            case .coresByMetrics: (.cores, "as server_cores, from the server's process_cpu_seconds_total")
            case .cpuPerPieceByMetrics:
                (.microseconds, "as server_cpu_per_piece, from the server's process_cpu_seconds_total")
            case .calls:
                (
                    .count,
                    "calls that the server accepted during the run, by its own count; includes standing calls and the "
                        + "calls that relay and churn use"
                )
            case .resumed: (.count, "sessions that the server resumed during the run, by its own count")
            case .start: (.seconds, "time until the test's own server listened, from its process; to within 20 ms")
            case .memoryBefore:
                (.bytes, "resident memory of the server before the first session; with --target from its metrics")
            case .memoryOpen:
                (
                    .bytes,
                    "resident memory of the server with all sessions open: before the load, for register after the hold"
                )
            case .memoryAfter: (.bytes, "resident memory of the server after the load, with sessions still open")
            case .memoryPerSession:
                (
                    .bytes,
                    "growth from server_memory_before to server_memory_open per session, if only sessions were opened "
                        + "in "
                        + "between, and at least \(Self.fewestSessions)"
                )
            case .memoryPerSessionByMetrics:
                (.bytes, "as server_memory_per_session, from the server's process_resident_memory_bytes")
            case .memoryGrowth:
                (
                    .ratio,
                    "growth of the server's mean resident memory from the middle third to the last third of a measured "
                        + "part of at least \(Self.growthSeconds) s"
                )
            case .descriptorsStart:
                (.count, "files and sockets that the server had open at the start of the measured part")
            case .descriptorsMax: (.count, "the most files and sockets that the server had open, sampled every second")
            case .homeKills: (.count, "how often the home of the realm was killed and another server took over")
            case .homeGapMedian:
                (.seconds, "time from the kill of a home until the other server is the home: median; to within 10 ms")
            case .homeGapMax: (.seconds, "time from the kill of a home until the other server is the home: maximum")
            case .descriptorsEnd: (.count, "files and sockets that the server had open at the end of the measured part")
            }
        }
    }
}
