import AdminProtocol
import ArgumentParser

/// What a probe judges beside the server's own list of problems: figures, by limits of the operator's.
struct CheckOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The age of the oldest queued push, in seconds.", valueName: Threshold.valueName))
    var oldestPush = Threshold()
    @Option(
        help: ArgumentHelp(
            "The share of pushes of calls in memory that were never reported, in percent; 0 below "
                + "\(Self.fewestReports) pushes.", valueName: Threshold.valueName))
    var unreported = Threshold()
    @Option(help: ArgumentHelp("Batches that wait for the store.", valueName: Threshold.valueName))
    var storeWaiting = Threshold()
    @Option(help: ArgumentHelp("Open files, in percent of the server's limit.", valueName: Threshold.valueName))
    var files = Threshold()
    @Option(
        help: ArgumentHelp(
            "The p99 time from the invite to the first ring in the last minute, in seconds.",
            valueName: Threshold.valueName))
    var ringP99 = Threshold()
    @Option(
        help: ArgumentHelp(
            "A kind of problem that counts as none, such as draining. May be repeated.", valueName: "problem"))
    var ignore: [ServerProblem.Code] = []

    /// Of fewer reports, one that is missing says nothing.
    static let fewestReports = 20
}
