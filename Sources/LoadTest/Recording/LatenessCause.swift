/// What most likely made phones late to their work, by what was used in the part that counts. All of it is in cores.
struct LatenessCause {
    /// Of the thread of phones that used most.
    let busiestThread: Double
    /// nil where they cannot be known. `waiting` is how much a thread of phones was ready and had no core, at most.
    let waiting, stolen, others, machine: Double?
    /// What this process may use.
    let processors: Double

    /// A thread of phones above this share of a core, but not at its limit, may have had more to do at times.
    private static let halfBusy = 0.5
    /// By time: twice the one in a hundred that is looked at.
    private static let muchWaiting = 0.02

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
        if let waiting, waiting > Self.muchWaiting {
            return
                "its threads were ready and waited for a core for \(LoadDoubts.percent(waiting)) of the time, which others had, "
                + "the server too; use less load, or a machine with more cores"
        }
        if busiestThread > Self.halfBusy {
            return "most likely for the load generator, whose \(thread); use more threads, or less load"
        }
        return "the figures show no cause (the load generator's \(thread)): perhaps this machine stalled; run it again"
    }

    private func text(_ value: Double) -> String { "\((value * 100).rounded() / 100)" }
}
