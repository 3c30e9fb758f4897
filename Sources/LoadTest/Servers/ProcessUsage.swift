import Foundation

/// What a process has used so far, as the kernel counts it (proc(5)).
struct ProcessUsage {
    let residentBytes: Int
    let cpu: Duration
    /// Open now.
    let descriptors: Int

    /// - Throws: ``LoadError``: there is no such process any more.
    static func of(_ pid: Int32) throws -> ProcessUsage {
        let status = try text("/proc/\(pid)/status")
        let stat = try text("/proc/\(pid)/stat")
        guard
            let line = status.split(separator: "\n").first(where: { $0.hasPrefix("VmRSS:") }),
            let kilobytes = Int(line.dropFirst(6).drop { $0.isWhitespace }.prefix { $0.isNumber }),
            // The command may contain anything, parentheses too; what follows the last one does not.
            let command = stat.lastIndex(of: ")")
        else { throw LoadError("process \(pid) is gone") }
        // From the state on, which is field 3: utime is field 14, stime 15.
        let fields = stat[stat.index(after: command)...].split(separator: " ")
        guard fields.count > 12, let user = Int64(fields[11]), let system = Int64(fields[12]) else {
            throw LoadError("/proc/\(pid)/stat is not as proc(5) describes it")
        }
        let open = try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd")
        return ProcessUsage(
            residentBytes: kilobytes * 1024, cpu: duration(ticks: user + system), descriptors: open?.count ?? 0)
    }

    /// What the cores of the machine did so far, without idle time and waiting for disks: CPU time of all that ran on
    /// them, and the time in which the host of a virtual machine ran something else though there was work.
    static func machine() throws -> (busy: Duration, stolen: Duration) {
        let fields = try text("/proc/stat").prefix { $0 != "\n" }.split(separator: " ").dropFirst().map {
            Int64($0) ?? 0
        }
        // user, nice, system, idle, iowait, irq, softirq, steal; guest times are part of user and nice.
        guard fields.count >= 8 else { throw LoadError("/proc/stat is not as proc(5) describes it") }
        return (
            duration(ticks: fields[0] + fields[1] + fields[2] + fields[5] + fields[6]), duration(ticks: fields[7])
        )
    }

    private static func duration(ticks: Int64) -> Duration {
        .microseconds(ticks * 1_000_000 / Int64(max(1, sysconf(Int32(_SC_CLK_TCK)))))
    }

    private static func text(_ path: String) throws -> String {
        guard let data = FileManager.default.contents(atPath: path), !data.isEmpty else {
            throw LoadError("cannot read \(path): the process has ended")
        }
        return String(decoding: data, as: UTF8.self)
    }
}
