/// What most likely made phones late to their work, by what was used in the part that counts. All of it is in cores: by time.
struct LatenessCause {
    /// Of the thread of phones that used most.
    let busiestThread: Double
    /// How long that thread was ready and had no core; nil where it cannot be known.
    let waiting: Double?
    /// nil where they cannot be known.
    let stolen, others, machine: Double?
    /// What this process may use.
    let processors: Double

    /// A thread of phones above this share of a core, but not at its limit, may have had more to do at times.
    private static let halfBusy = 0.5
    /// Of the time in which it had something to do.
    private static let muchWaiting = 0.2

    /// In words, with what to do.
    var words: String {
        let thread = "busiest thread used \(LoadDoubts.percent(busiestThread)) of a core"
        if busiestThread > LoadDoubts.busyThread {
            return "the load generator was a bottleneck: its \(thread); use more threads, or less load"
        }
        let (stolen, others) = (self.stolen ?? 0, self.others ?? 0)
        if max(stolen, others) > LoadDoubts.otherWork * processors {
            let idle = "and hardly for the load generator, whose \(thread)"
            return stolen > others
                ? "most likely for the host of this virtual machine, which took \(text(stolen)) cores, \(idle); run it again"
                : "most likely for other processes, which used \(text(others)) cores, \(idle); end them and run it again"
        }
        if let machine, machine > LoadDoubts.busyMachine * processors {
            return "the server and the load together filled the machine; use less load, or a machine with more cores"
        }
        if let waiting, waiting > Self.muchWaiting * (waiting + busiestThread) {
            return "most likely for want of a core, for which its busiest thread waited "
                + "\(LoadDoubts.percent(waiting)) of the time: use less load, or a machine with more cores"
        }
        if busiestThread > Self.halfBusy {
            return "most likely for the load generator, whose \(thread); use more threads, or less load"
        }
        return "the figures show no cause (the load generator's \(thread)): perhaps this machine stalled; run it again"
    }

    private func text(_ value: Double) -> String { "\((value * 100).rounded() / 100)" }
}
