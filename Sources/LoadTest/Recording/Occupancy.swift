/// How many operations are under way on average over a time. Confined to the phones' loop.
struct Occupancy {
    private let start: ContinuousClock.Instant
    private var last: ContinuousClock.Instant
    private var underWay = 0
    /// In operations times seconds.
    private var sum = 0.0

    /// - Parameter start: of the measured part.
    init(start: ContinuousClock.Instant) {
        self.start = start
        last = start
    }

    /// From `now` on there are so many.
    mutating func set(_ underWay: Int, at now: ContinuousClock.Instant) {
        if now > last {
            sum += Double(self.underWay) * last.duration(to: now).inSeconds
            last = now
        }
        self.underWay = underWay
    }

    /// Until the last moment that it was told of; 0 before the measured part.
    var mean: Double {
        let time = start.duration(to: last).inSeconds
        return time > 0 ? sum / time : 0
    }
}
