/// Memory and descriptors of the server's process, for each second of the measured part. Confined to the run's task.
struct ServerSamples {
    private var resident: [Int] = []
    private var descriptors: [Int] = []

    mutating func add(_ usage: ProcessUsage) {
        resident.append(usage.residentBytes)
        descriptors.append(usage.descriptors)
    }

    /// How memory and descriptors went; memory only with enough seconds to compare: in the first minutes it grows with
    /// every server, which fills its caches.
    var figures: [Figure] {
        guard let first = descriptors.first, let last = descriptors.last, let most = descriptors.max() else {
            return []
        }
        typealias Server = LoadFigure.Server
        let figures = [
            Server.descriptorsStart.figure(first), Server.descriptorsMax.figure(most),
            Server.descriptorsEnd.figure(last),
        ]
        let third = resident.count / 3
        guard resident.count >= LoadFigure.Server.growthSeconds else { return figures }
        let middle = Self.mean(resident[third..<(2 * third)])
        let late = Self.mean(resident[(resident.count - third)...])
        return figures + [Server.memoryGrowth.figure(late / middle - 1)]
    }

    private static func mean(_ values: ArraySlice<Int>) -> Double {
        Double(values.reduce(0, +)) / Double(values.count)
    }
}

extension ReportBuilder {
    /// Memory and descriptors over the measured part.
    var holdingFigures: [Figure] {
        guard let schedule = outcome.schedule else { return [] }
        var samples = ServerSamples()
        for tick in outcome.ticks where tick.planned >= schedule.warmUpEnd { samples.add(tick.server) }
        return samples.figures
    }

    /// What one device of a fan-out costs.
    var legFigures: [Figure] {
        let legs = all.completed * plan.fanOut
        guard plan.scenario == .fanout else { return [] }
        return LoadFigure.Server.cpuPerLeg.figures(cores?.microseconds(cores?.server, each: legs))
    }
}
