/// What the server's process held, second by second in the part that counts. Confined to the run's task.
struct ServerSamples {
    private var resident: [Int] = []
    private var descriptors: [Int] = []

    mutating func add(_ usage: ProcessUsage) {
        resident.append(usage.residentBytes)
        descriptors.append(usage.descriptors)
    }

    /// How memory and descriptors went; memory only with enough seconds to compare.
    var figures: [Figure] {
        guard let first = descriptors.first, let last = descriptors.last, let most = descriptors.max() else {
            return []
        }
        var figures = [
            Figure(
                "server_descriptors_start", .server, Double(first), .count,
                "descriptors that the server's process had open when the part that counts began"),
            Figure(
                "server_descriptors_max", .server, Double(most), .count,
                "the most it had open, looked at each second"),
            Figure(
                "server_descriptors_end", .server, Double(last), .count,
                "those it had open when the part that counts ended"),
        ]
        let third = resident.count / 3
        guard third > 0 else { return figures }
        let middle = Self.mean(resident[third..<(2 * third)])
        let late = Self.mean(resident[(resident.count - third)...])
        figures.append(
            Figure(
                "server_memory_growth", .server, late / middle - 1, .ratio,
                "resident memory of the server's process: its mean over the last third of the part that counts by that "
                    + "over the middle third, less one"))
        return figures
    }

    private static func mean(_ values: ArraySlice<Int>) -> Double {
        Double(values.reduce(0, +)) / Double(values.count)
    }
}

extension ReportBuilder {
    /// Memory and descriptors over the part that counts.
    var holdingFigures: [Figure] {
        guard let schedule = outcome.schedule else { return [] }
        var samples = ServerSamples()
        for tick in outcome.ticks where tick.planned >= schedule.warmUpEnd { samples.add(tick.server) }
        return samples.figures
    }

    /// What one device of a fan-out costs.
    var legFigures: [Figure] {
        let legs = all.completed * plan.fanOut
        guard plan.scenario == .fanout, let each = cores?.microseconds(cores?.server, each: legs) else { return [] }
        return [
            Figure(
                "server_cpu_per_leg", .server, each, .microseconds,
                "CPU time of the server's process for each device called, as the kernel counts it")
        ]
    }
}
