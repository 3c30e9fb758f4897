extension LoadFigure {
    /// What it cost the server.
    public enum Server: String, LoadFigureKind {
        case cores = "server_cores"
        case cpuPerPiece = "server_cpu_per_piece"
        case cpuPerLeg = "server_cpu_per_leg"
        case coresByMetrics = "server_cores_by_metrics"
        case cpuPerPieceByMetrics = "server_cpu_per_piece_by_metrics"
        case calls = "server_calls"
        case resumed = "server_resumed"
        case memoryBefore = "server_memory_before"
        case memoryOpen = "server_memory_open"
        case memoryAfter = "server_memory_after"
        case memoryPerSession = "server_memory_per_session"
        case memoryPerSessionByMetrics = "server_memory_per_session_by_metrics"
        case memoryGrowth = "server_memory_growth"
        case descriptorsStart = "server_descriptors_start"
        case descriptorsMax = "server_descriptors_max"
        case descriptorsEnd = "server_descriptors_end"

        public static let group = Figure.Group.server
        /// Of fewer, their memory is mostly what a server takes once for all.
        static let fewestSessions = 1_000
        /// In less time memory grows with what a server keeps once for all.
        static let growthSeconds = 300

        public var unit: Figure.Unit {
            switch self {
            case .cores, .coresByMetrics: .cores
            case .cpuPerPiece, .cpuPerLeg, .cpuPerPieceByMetrics: .microseconds
            case .calls, .resumed, .descriptorsStart, .descriptorsMax, .descriptorsEnd: .count
            case .memoryBefore, .memoryOpen, .memoryAfter, .memoryPerSession, .memoryPerSessionByMetrics: .bytes
            case .memoryGrowth: .ratio
            }
        }

        public var definition: String {
            switch self {
            case .cores:
                "CPU time of all of the server's threads in the part that counts, by time, as the kernel counts "
                    + "it: 1 is one core"
            case .cpuPerPiece:
                "CPU time of all of the server's threads for each PIECE completed, both in the part that "
                    + "counts, as the kernel counts it"
            case .cpuPerLeg:
                "of fanout: CPU time of all of the server's threads for each device called, as the kernel counts it"
            case .coresByMetrics:
                "CPU time of the server in the part that counts, by time, by its own process_cpu_seconds_total"
            case .cpuPerPieceByMetrics:
                "CPU time of the server for each PIECE completed, both in the part that counts, by its own "
                    + "process_cpu_seconds_total"
            case .calls:
                "calls that the server took in over all of the run, by its own count, with those set up before the load: "
                    + "of --standing, and those in which relay and churn have their pieces"
            case .resumed: "sessions that the server resumed over all of the run, by its own count"
            case .memoryBefore:
                "the server's resident memory before the first session, by its own count where it is no process "
                    + "of the run"
            case .memoryOpen:
                "the server's resident memory with all sessions open: before the load, of register after the hold"
            case .memoryAfter: "the server's resident memory after the load, sessions still open"
            case .memoryPerSession:
                "growth of the server's resident memory from server_memory_before to server_memory_open by the "
                    + "number of sessions, where nothing but sessions was opened between them, \(Self.fewestSessions) of "
                    + "them at least"
            case .memoryPerSessionByMetrics: "as server_memory_per_session, by its own process_resident_memory_bytes"
            case .memoryGrowth:
                "of a part that counts of \(Self.growthSeconds) s at least: the mean of the server's resident memory in its "
                    + "last third by that in the middle third, less one"
            case .descriptorsStart: "files and sockets that the server had open when the part that counts began"
            case .descriptorsMax: "the most files and sockets that the server had open, looked at each second"
            case .descriptorsEnd: "files and sockets that the server had open when the part that counts ended"
            }
        }
    }
}
