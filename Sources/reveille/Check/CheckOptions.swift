import ArgumentParser

/// The limits of a probe; the standard ones are for a server that is to be left alone at night.
struct CheckOptions: ParsableArguments {
    @Option(help: ArgumentHelp("How long the oldest push that is queued has waited, in seconds.", valueName: "w:c"))
    var oldestPush = Threshold(warning: 5, critical: 15)
    @Option(
        help: ArgumentHelp(
            "How many pushes of the calls in memory were never reported, in percent; counted from "
                + "\(Self.fewestReports) on.", valueName: "w:c"))
    var unreported = Threshold(warning: 10, critical: 30)
    @Option(help: ArgumentHelp("How many batches wait for the store.", valueName: "w:c"))
    var storeWaiting = Threshold(warning: 100, critical: 1000)
    @Option(help: ArgumentHelp("Push providers that are left alone because they do not answer.", valueName: "w:c"))
    var openCircuits = Threshold(critical: 1)
    @Option(help: ArgumentHelp("Laws of the push ledger that are broken.", valueName: "w:c"))
    var violations = Threshold(critical: 1)
    @Option(help: ArgumentHelp("Open files, in percent of those the server may have.", valueName: "w:c"))
    var files = Threshold(warning: 80, critical: 95)
    @Option(
        help: ArgumentHelp(
            "From the invite to the first ring, in seconds: 99 of 100 calls of the last minute take less.",
            valueName: "w:c"))
    var ringP99 = Threshold(warning: 10, critical: 30)
    @Option(help: ArgumentHelp("Reasons why the server is not ready, other than that it drains.", valueName: "w:c"))
    var problems = Threshold(critical: 1)
    @Option(help: ArgumentHelp("1 while the server drains.", valueName: "w:c"))
    var draining = Threshold(warning: 1)

    /// Of fewer reports, one that is missing says nothing.
    static let fewestReports = 20
}
