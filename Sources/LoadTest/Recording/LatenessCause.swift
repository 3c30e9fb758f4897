/// The most likely cause of late phone threads, from the CPU use in the measured part. All values are in cores.
struct LatenessCause {
    /// Of the phone thread that used most.
    let busiestThread: Double
    /// Its wait for a core; nil if unknown.
    let waiting: Double?
    /// nil if unknown.
    let stolen, others, machine: Double?
    /// What this process may use.
    let processors: Double

    /// Above this share of a core a phone thread may have been saturated at times.
    private static let halfBusy = 0.5
    /// Of the time in which it had something to do.
    private static let muchWaiting = 0.2

    /// With advice.
    var words: String {
        let thread = "busiest thread used \(LoadDoubts.percent(busiestThread)) of a core"
        if busiestThread > LoadDoubts.busyThread {
            return "the load generator was a bottleneck: its \(thread); use more threads, or less load"
        }
        let (stolen, others) = (self.stolen ?? 0, self.others ?? 0)
        if max(stolen, others) > LoadDoubts.otherWork * processors {
            let idle = "(the load generator's \(thread))"
            return stolen > others
                ? "most likely because the host of this virtual machine took \(text(stolen)) cores \(idle); run it "
                    + "again"
                : "most likely because other processes used \(text(others)) cores \(idle); end them and run it again"
        }
        if let machine, machine > LoadDoubts.busyMachine * processors {
            return "the server and the load together saturated the machine; use less load, or a machine with more cores"
        }
        if let waiting, waiting > Self.muchWaiting * (waiting + busiestThread) {
            return "most likely for lack of cores: its busiest thread waited "
                + "\(LoadDoubts.percent(waiting)) of the time for one; use less load, or a machine with more cores"
        }
        if busiestThread > Self.halfBusy {
            return "most likely because the load generator's \(thread); use more threads, or less load"
        }
        return "the figures show no cause (the load generator's \(thread)): perhaps this machine stalled; run it again"
    }

    private func text(_ value: Double) -> String { "\((value * 100).rounded() / 100)" }
}
