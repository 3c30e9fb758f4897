extension LoadFigure {
    /// The load of the generator and the machine.
    public enum Generator: String, LoadFigureKind {
        case ownCores = "own_cores"
        case ownCpuPerPiece = "own_cpu_per_piece"
        case ownThreadNCores = "own_thread_N_cores"
        case ownThreadNWaiting = "own_thread_N_waiting"
        case latenessP50 = "lateness_p50"
        case latenessP99 = "lateness_p99"
        case latenessMax = "lateness_max"
        case loopLagP50 = "loop_lag_p50"
        case loopLagP99 = "loop_lag_p99"
        case loopLagMax = "loop_lag_max"
        case simulatorCores = "simulator_cores"
        case otherCores = "other_cores"
        case stolenCores = "stolen_cores"
        case machineCores = "machine_cores"

        public static let group = Figure.Group.generator
        private static let lateness = "open loop: time from when an operation was due until it began"
        private static let loopLag =
            "time from when a timer of a phone thread was due until it ran, sampled every 10 ms"

        public var meaning: Meaning {
            switch self {
            case .ownCores: (.cores, "CPU time of the load generator by wall time in the measured part: 1 is one core")
            case .ownCpuPerPiece:
                (.microseconds, "CPU time of the load generator per completed operation in the measured part")
            case .ownThreadNCores: (.cores, "CPU time of phone thread N by wall time: at 1 it is saturated")
            case .ownThreadNWaiting:
                (
                    .cores,
                    "time in which phone thread N was ready and waited for a core, by wall time; missing if the kernel "
                        + "does not count it"
                )
            case .latenessP50: (.microseconds, Self.lateness + ", which is part of its latency: median")
            case .latenessP99: (.microseconds, Self.lateness + ": 99th percentile")
            case .latenessMax: (.microseconds, Self.lateness + ": maximum")
            case .loopLagP50: (.microseconds, Self.loopLag + ": median")
            case .loopLagP99: (.microseconds, Self.loopLag + ": 99th percentile")
            case .loopLagMax: (.microseconds, Self.loopLag + ": maximum")
            case .simulatorCores: (.cores, "CPU time of the push simulator by wall time")
            case .otherCores:
                (
                    .cores,
                    "CPU time of interrupts and of processes outside the run, by wall time; with --target a server on "
                        + "this "
                        + "machine with metrics is assumed, and it is missing if pushes are sent"
                )
            case .stolenCores:
                (
                    .cores,
                    "time in which a core of this virtual machine had work and its host ran something else, by wall "
                        + "time"
                )
            case .machineCores: (.cores, "cores that this process may use")
            }
        }
    }
}
