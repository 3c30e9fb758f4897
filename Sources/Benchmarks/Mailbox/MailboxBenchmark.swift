import EventLoop

/// What it costs to hand a message to another thread, through the mailbox of its loop.
public struct MailboxBenchmark: Sendable {
    public var settings: PartSettings
    /// Messages that are posted at once, where it is several.
    public var batch = 64
    /// Pings, and messages in a row, between two looks at the clock.
    public var pings = 2_000
    public var flood = 100_000

    public init(_ settings: PartSettings) {
        self.settings = settings
    }

    /// - Throws: ``BenchmarkError`` and `SystemError`: no result.
    public func run(progress: (_ round: Int) -> Void) async throws -> PartReport {
        precondition(batch > 0 && pings > 0 && flood >= batch, "something is posted")
        var readings = Readings()
        for round in 1...settings.rounds {
            let pipe = try PipePing.measure(pings, for: settings.seconds)
            let dictionary = ReferenceLoop.dictionaryCost(for: settings.seconds)
            for (size, words) in [(1, "one at a time"), (batch, "many at a time")] {
                let ends = try MailboxEnds()
                let exchange = await ends.exchange(pings, of: size, for: settings.seconds)
                let row = await ends.flood(flood, by: size, for: settings.seconds)
                await ends.stop()
                try note(
                    "exchanged, \(words)", exchange, to: pipe, against: "a byte through a pipe there and one back",
                    &readings)
                try note(
                    "sent in a row, \(words)", row, to: dictionary, against: ReferenceLoop.dictionary, &readings)
            }
            progress(round)
        }
        let work = """
            two loops post to each other, 1 and \(batch) messages at a time: answered before the next are sent, and in a \
            row; costs are of a message, in CPU time of both threads
            """
        return PartReport(.mailbox, work: work, rounds: settings.rounds, readings)
    }

    private func note(
        _ name: String, _ run: MailboxEnds.Run, to reference: Double, against words: String, _ readings: inout Readings
    ) throws {
        guard run.received == run.sample.count else {
            throw BenchmarkError("\(run.received) of \(run.sample.count) messages were received")
        }
        let rate = PartFigure.Quantity(run.sample.rate / 1_000_000, "million messages/s")
        let reading = Readings.Reading(
            cost: run.sample.cpuMicroseconds * 1000, reference: reference, operations: run.sample.count, also: [rate])
        readings.note(name, reading, against: words)
    }
}
