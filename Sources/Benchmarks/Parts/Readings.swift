/// Collects the figures of a component, round by round.
struct Readings {
    struct Reading {
        let cost: Double
        let reference: Double
        let operations: Int
        var also: [PartFigure.Quantity] = []
    }

    private struct Kind {
        let unit: PartFigure.Unit
        let reference: String
        var readings: [Reading] = []
    }

    private var names: [String] = []
    private var kinds: [String: Kind] = [:]

    /// - Parameter name: identifies the figure in results, so it is the same for all sizes.
    mutating func note(
        _ name: String, _ reading: Reading, unit: PartFigure.Unit = .nanoseconds, against reference: String
    ) {
        if kinds[name] == nil { names.append(name) }
        kinds[name, default: Kind(unit: unit, reference: reference)].readings.append(reading)
    }

    /// For a figure measured by one thread's CPU time, with its allocations.
    mutating func note(
        _ name: String, _ cost: Cost, to reference: Double, against words: String, also: [PartFigure.Quantity] = []
    ) {
        let reading = Reading(
            cost: cost.nanosecondsEach, reference: reference, operations: cost.operations,
            also: also + [PartFigure.Quantity(cost.allocationsEach, "allocations")])
        note(name, reading, against: words)
    }

    var figures: [PartFigure] {
        names.compactMap { name in
            guard let kind = kinds[name] else { return nil }
            let readings = kind.readings
            let also = readings[0].also.indices.map { index in
                let values = readings.map { $0.also[index].value }
                return PartFigure.Quantity(Spread(values).median, readings[0].also[index].name)
            }
            return PartFigure(
                name: name, unit: kind.unit, cost: Spread(readings.map(\.cost)), reference: kind.reference,
                referenceCost: Spread(readings.map(\.reference)),
                ratio: Spread(readings.map { $0.cost / $0.reference }), also: also,
                operations: readings.reduce(0) { $0 + $1.operations })
        }
    }
}
