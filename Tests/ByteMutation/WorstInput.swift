import Glibc

/// Inputs that cost a careless reader more than their length, and what they cost.
public enum WorstInput: String, CaseIterable, Sendable {
    /// Combining marks in the wrong order, which Swift sorts to compare texts.
    case marks
    /// The same, escaped as in JSON.
    case escapedMarks
    /// The same, escaped as in a path.
    case percentMarks
    case equal
    case lineEnds
    case blanks
    case commas
    case slashes
    case percents
    case backslashes

    /// - Returns: about `count` bytes.
    public func bytes(_ count: Int) -> [UInt8] {
        func repeated(_ text: String, _ count: Int) -> [UInt8] {
            let unit = Array(text.utf8)
            return (0..<max(1, count / unit.count)).flatMap { _ in unit }
        }
        return switch self {
        case .marks: repeated("\u{315}", count / 2) + repeated("\u{323}", count / 2)
        case .escapedMarks: repeated("\\u0315", count / 2) + repeated("\\u0323", count / 2)
        case .percentMarks: repeated("%CC%95", count / 2) + repeated("%CC%A3", count / 2)
        case .equal: repeated("a", count)
        case .lineEnds: repeated("\r\n", count)
        case .blanks: repeated(" ", count)
        case .commas: repeated("a,", count)
        case .slashes: repeated("/", count)
        case .percents: repeated("%2F", count)
        case .backslashes: repeated("\\\\", count)
        }
    }

    /// The most that twice the input may cost, where the work grows with the length.
    public static let mostGrowth = 2.5

    /// The most processor time for one frame or request of the greatest length: 5 ms. In a debug build, which is many times
    /// as slow and runs with each commit, the test finds only what takes far longer than that. `Tests/release worst` builds
    /// with optimization.
    #if DEBUG
        public static let mostTime = Duration.milliseconds(250)
    #else
        public static let mostTime = Duration.milliseconds(5)
    #endif

    /// Whether the work takes at most ``mostTime``, in the cheapest of a few runs.
    public static func isQuick(_ work: () -> Void) -> Bool {
        for _ in 1...5 where processorTime(of: work) <= mostTime { return true }
        return false
    }

    /// How much more the work costs for an input of twice the length. Counts the processor's time of this thread, and takes
    /// the cheapest of many runs, so that other work on the machine changes little: work that grows too fast is measured
    /// for three seconds.
    public static func growth<Input>(at count: Int, of input: (Int) -> Input, _ work: (Input) -> Void) -> Double {
        let (short, long) = (input(count), input(2 * count))
        var best = (short: Duration.seconds(1000), long: Duration.seconds(1000))
        var (runs, spent) = (0, Duration.zero)
        // At least 0.2 ms: below that, caches and the allocator make more of a difference than the work.
        func growth() -> Double { max(floor, best.long) / max(floor, best.short) }
        while runs < 3 || growth() > mostGrowth && spent < .seconds(3) {
            let times = (processorTime { work(short) }, processorTime { work(long) })
            best = (min(best.short, times.0), min(best.long, times.1))
            runs += 1
            spent += times.0 + times.1
        }
        return growth()
    }

    private static let floor = Duration.microseconds(200)

    /// The time that the work has had a processor: what other programs take is not in it.
    public static func processorTime(of work: () -> Void) -> Duration {
        func now() -> Duration {
            var time = timespec()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
        }
        let began = now()
        work()
        return now() - began
    }
}
