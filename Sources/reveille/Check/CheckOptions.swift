import ArgumentParser

/// The limits of a probe. The defaults suit a server that nobody watches at night.
struct CheckOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The age of the oldest queued push, in seconds.", valueName: "w:c"))
    var oldestPush = Threshold(warning: 5, critical: 15)
    @Option(
        help: ArgumentHelp(
            "The share of pushes of calls in memory that were never reported, in percent; 0 below "
                + "\(Self.fewestReports) pushes.", valueName: "w:c"))
    var unreported = Threshold(warning: 10, critical: 30)
    @Option(help: ArgumentHelp("Batches that wait for the store.", valueName: "w:c"))
    var storeWaiting = Threshold(warning: 100, critical: 1000)
    @Option(help: ArgumentHelp("Push credentials whose circuit breaker is open.", valueName: "w:c"))
    var openCircuits = Threshold(critical: 1)
    @Option(help: ArgumentHelp("Violated invariants of the push ledger.", valueName: "w:c"))
    var violations = Threshold(critical: 1)
    @Option(help: ArgumentHelp("Open files, in percent of the server's limit.", valueName: "w:c"))
    var files = Threshold(warning: 80, critical: 95)
    @Option(
        help: ArgumentHelp(
            "The p99 time from the invite to the first ring in the last minute, in seconds.",
            valueName: "w:c"))
    var ringP99 = Threshold(warning: 10, critical: 30)
    @Option(help: ArgumentHelp("Reasons why the server is not ready, except draining.", valueName: "w:c"))
    var problems = Threshold(critical: 1)
    @Option(help: ArgumentHelp("1 while the server drains.", valueName: "w:c"))
    var draining = Threshold(warning: 1)

    /// Of fewer reports, one that is missing says nothing.
    static let fewestReports = 20
}
