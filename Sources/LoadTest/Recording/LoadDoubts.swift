/// From where on figures are in doubt.
public enum LoadDoubts {
    /// In words, for the manual and for ``LoadReports``.
    public static let rules = """
        a phone thread that was busy for more than \(percent(busyThread)); a push simulator that used more than \
        \(percent(busyThread)) of a core; lateness of an open loop or loop lag of a closed one with a p99 above \
        \(milliseconds(lateAlways)) ms, or above \(milliseconds(lateAtLeast)) ms and \(percent(lateShare)) of the \
        first stage's p50; a closed loop that had less than \(percent(fewUnderWay)) of its operations under way; \
        connections on more than half of the local ports, if phones reconnect; operations that were not begun, \
        failed or did not end, whose latencies are missing; calls that are held longer than the warm-up; fewer than \
        \(fewest) completed operations; a machine that was busy for more than \(percent(busyMachine)); other \
        processes, or the host of this virtual machine, that took more than \(percent(otherWork)) of the machine; a \
        server whose data is in memory; a server that dropped messages by its rate limit; a target that accepted \
        over \(percent(othersCalls)) more calls than the load made; a target that was restarted; no audit; values \
        that could not be measured
        """

    /// A phone thread above this share of a core may have made others wait.
    static let busyThread = 0.85
    static let busyMachine = 0.95
    /// Of all cores.
    static let otherWork = 0.05
    /// Of the calls that the server took in.
    static let othersCalls = 0.1
    /// As many may be of the moments between looking at the load and asking the server.
    static let fewCalls = 20.0
    /// In microseconds: what is late by more is in doubt, however slow the server.
    static let lateAlways: UInt64 = 5_000
    /// In microseconds: what is late by less is as exact as timers are.
    static let lateAtLeast: UInt64 = 100
    static let lateShare = 0.05
    static let fewUnderWay = 0.95
    /// Fewer than this, and one in a thousand is one or none.
    static let fewest = 1000

    static func isLate(p99: UInt64, stage p50: UInt64) -> Bool {
        p99 > lateAlways || p99 > lateAtLeast && Double(p99) > lateShare * Double(p50)
    }

    static func percent(_ share: Double) -> String { "\(Int((share * 100).rounded())) %" }

    static func milliseconds(_ microseconds: UInt64) -> String {
        let tenths = (microseconds + 50) / 100
        return tenths.isMultiple(of: 10) ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
    }
}
