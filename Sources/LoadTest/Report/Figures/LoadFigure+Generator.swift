extension LoadFigure {
    /// Whether the load was the bottleneck.
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
        private static let loopLag =
            "from when something was due on a thread of phones to when it ran, looked at every 10 ms: "

        public var unit: Figure.Unit {
            switch self {
            case .ownCores, .ownThreadNCores, .ownThreadNWaiting, .simulatorCores, .otherCores, .stolenCores,
                .machineCores:
                .cores
            case .ownCpuPerPiece, .latenessP50, .latenessP99, .latenessMax, .loopLagP50, .loopLagP99, .loopLagMax:
                .microseconds
            }
        }

        public var definition: String {
            switch self {
            case .ownCores: "CPU time of the load generator in the part that counts, by time: 1 is one core"
            case .ownCpuPerPiece:
                "CPU time of the load generator for each PIECE completed, both in the part that counts"
            case .ownThreadNCores: "CPU time of thread N of phones, by time: at 1 it can do no more"
            case .ownThreadNWaiting:
                "time, by time, in which thread N of phones was ready and waited for a core, where the kernel counts it"
            case .latenessP50:
                "of an open loop: from when a PIECE was due to when it was begun, which is part of its times: "
                    + "one half was no later"
            case .latenessP99:
                "of an open loop: from when a PIECE was due to when it was begun: 99 in 100 were no later"
            case .latenessMax: "of an open loop: from when a PIECE was due to when it was begun: the latest"
            case .loopLagP50: Self.loopLag + "one half was no later"
            case .loopLagP99: Self.loopLag + "99 in 100 were no later"
            case .loopLagMax: Self.loopLag + "the latest"
            case .simulatorCores: "CPU time of the push simulator, by time"
            case .otherCores:
                "CPU time, by time, of what has no part in the run: other processes, interrupts; with --target, on this "
                    + "machine and as far as the server tells its own, unless pushes are sent"
            case .stolenCores:
                "time, by time, in which the host of this virtual machine ran something else though a core here "
                    + "had work"
            case .machineCores: "what this process may use of the machine"
            }
        }
    }
}
