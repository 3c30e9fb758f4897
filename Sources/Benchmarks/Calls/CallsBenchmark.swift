/// The cost of complete calls between online phones, without sockets, by component. Each component processes many calls
/// at a time, with its data in the processor's caches.
struct CallsBenchmark: ComponentBenchmark {
    /// The components, in the order a request passes through them.
    enum Part: String, CaseIterable {
        case read = "requests read"
        case decide = "decided"
        case store = "made durable"
        case write = "frames written"
        case show = "live picture"

        static let all = "all of these"
    }

    let part = BenchmarkPart.calls
    let writesToDisk = true
    var settings: PartSettings
    /// Pairs of phones. One step of all pairs is one turn of the core and one commit.
    var pairs = 150

    var work: String {
        """
        complete calls of one phone with another, \(pairs) at once, a step of all of them in one commit; microseconds \
        of CPU for a call, of the store's threads until all is in the tables and of what the others do in these parts, not \
        of what hands it from one to the next
        """
    }

    /// - Throws: ``BenchmarkError`` and `StoreFailure`: no result.
    func measure(in folder: String, _ readings: inout Readings) async throws {
        precondition(pairs > 0, "somebody calls")
        let reference = ReferenceLoop.dictionaryCost(for: settings.seconds)
        let run = try CallsRun(folder: "\(folder)/store", pairs: pairs)
        note(try await run.measure(for: settings.seconds), reference, &readings)
    }

    private func note(_ outcome: CallsRun.Outcome, _ reference: Double, _ readings: inout Readings) {
        let costs = Part.allCases.map { (name: $0.rawValue, seconds: outcome.seconds[$0] ?? 0) }
        let all = (name: Part.all, seconds: costs.reduce(0) { $0 + $1.seconds })
        for (name, seconds) in costs + [all] {
            let reading = Readings.Reading(
                cost: seconds * 1_000_000 / Double(outcome.calls), reference: reference / 1000,
                operations: outcome.calls,
                also: name == Part.all
                    ? [
                        PartFigure.Quantity(Double(outcome.records) / Double(outcome.calls), "records"),
                        PartFigure.Quantity(Double(outcome.messages) / Double(outcome.calls), "frames"),
                        PartFigure.Quantity(Double(outcome.commits) / Double(outcome.calls), "commits"),
                    ] : [])
            readings.note(name, reading, unit: .microseconds, against: ReferenceLoop.dictionary)
        }
    }
}
