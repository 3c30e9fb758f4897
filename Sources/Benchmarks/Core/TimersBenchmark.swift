import CallVocabulary
import Determinism

/// The cost of the machines' deadline queue, with few and with many pending deadlines.
struct TimersBenchmark: ComponentBenchmark {
    let part = BenchmarkPart.timers
    let writesToDisk = false
    var settings: PartSettings
    var few = 1_000
    var many = 1_000_000
    /// Deadlines added, cancelled or expired at once.
    var batch = 500

    var work: String {
        "\(few) deadlines are pending, or \(many); \(batch) at a time are added, cancelled and expired"
    }

    /// - Throws: ``BenchmarkError`` when the queue returns the wrong deadlines.
    func measure(in folder: String, _ readings: inout Readings) throws {
        precondition(batch > 0 && few >= batch && many >= few, "the counts must satisfy 0 < batch <= few <= many")
        let reference = ReferenceLoop.dictionaryCost(for: settings.seconds)
        let (least, most) = (try measure(pending: few), try measure(pending: many))
        for (name, cost) in least {
            readings.note("\(name), few pending", cost, to: reference, against: ReferenceLoop.dictionary)
        }
        for ((name, least), (_, most)) in zip(least, most) {
            readings.note(
                "\(name), many pending", most, to: least.nanosecondsEach, against: "the same with few pending")
        }
    }

    private func measure(pending: Int) throws -> [(name: String, Cost)] {
        var deadlines = PendingDeadlines(pending)
        let adding = Cost.measure(for: settings.seconds) { cost in
            let times = deadlines.times(batch)
            cost.add(batch) { deadlines.add(times) }
            deadlines.cancelAdded()
        }
        let cancelling = Cost.measure(for: settings.seconds) { cost in
            deadlines.add(deadlines.times(batch))
            cost.add(batch) { deadlines.cancelAdded() }
        }
        let expiring = try Cost.measure(for: settings.seconds) { cost in
            var expired = 0
            cost.add(batch) { expired = deadlines.expire(batch) }
            guard expired == batch, deadlines.count == pending - batch else {
                throw BenchmarkError("\(expired) of \(batch) deadlines fell due, and \(deadlines.count) are left")
            }
            deadlines.add(deadlines.times(batch))
            deadlines.keepAdded()
        }
        return [("added", adding), ("cancelled", cancelling), ("expired", expiring)]
    }
}

/// A queue of deadlines at random times within the next hour.
private struct PendingDeadlines {
    private var queue = DeadlineQueue<Int>()
    private var now = Instant(milliseconds: 0)
    private var random = SeededGenerator(seed: 11)
    private var added: [DeadlineQueue<Int>.Token] = []

    init(_ count: Int) {
        add(times(count))
        added = []
    }

    var count: Int { queue.count }

    mutating func times(_ count: Int) -> [Instant] {
        (0..<count).map { _ in now + .milliseconds(Int64(random.next() % 3_600_000)) }
    }

    mutating func add(_ times: [Instant]) {
        for at in times { added.append(queue.add(1, at: at)) }
    }

    mutating func cancelAdded() {
        for token in added { queue.cancel(token) }
        keepAdded()
    }

    mutating func keepAdded() { added.removeAll(keepingCapacity: true) }

    /// Advances the time until this many deadlines have passed.
    /// - Returns: the number that passed.
    mutating func expire(_ count: Int) -> Int {
        var expired = 0
        while expired < count, let next = queue.next {
            now = next
            expired += queue.popDue(now: now) ?? 0
        }
        return expired
    }
}
