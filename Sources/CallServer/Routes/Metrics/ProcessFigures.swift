import EventLoop
import Foundation
import Glibc

/// Resources used by the process, under Prometheus' standard names.
struct ProcessFigures: Sendable {
    var cpuSeconds: Double
    var residentBytes: Int?
    var virtualBytes: Int?
    var openFiles: Int?
    var maxFiles: Int
    var threads: Int?
    /// Seconds since the epoch.
    var startedAt: Double?

    /// Reads `/proc/self` (proc(5)).
    static func now() -> ProcessFigures {
        var usage = rusage()
        // The imported enumeration does not convert to the parameter's type.
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
        let memory = fields("/proc/self/statm")?.compactMap { Int($0) } ?? []
        let page = Int(sysconf(Int32(_SC_PAGESIZE)))
        // Counted from after the process name, which may contain spaces and parentheses: the third field is the first
        // here.
        let status = text("/proc/self/stat").flatMap { stat in
            stat.lastIndex(of: ")").map { stat[stat.index(after: $0)...].split(separator: " ") }
        }
        func field(_ number: Int) -> Double? {
            status.flatMap { $0.indices.contains(number - 3) ? Double($0[number - 3]) : nil }
        }
        let ticks = Double(sysconf(Int32(_SC_CLK_TCK)))
        return ProcessFigures(
            cpuSeconds: seconds(usage.ru_utime) + seconds(usage.ru_stime),
            residentBytes: memory.count > 1 ? memory[1] * page : nil,
            virtualBytes: memory.first.map { $0 * page }, openFiles: openFiles(),
            maxFiles: DescriptorLimit.current,
            threads: field(20).map { Int($0) },
            startedAt: field(22).flatMap { started in bootTime().map { $0 + started / ticks } })
    }

    /// The number of open descriptors, without the one used to list them.
    private static func openFiles() -> Int? {
        guard let folder = opendir("/proc/self/fd") else {
            // None is left to look with.
            return errno == EMFILE ? DescriptorLimit.current : nil
        }
        defer { closedir(folder) }
        var count = -1
        while let entry = readdir(folder) {
            // All names begin with a digit, except "." and "..".
            if entry.pointee.d_name.0 != CChar(UInt8(ascii: ".")) { count += 1 }
        }
        return count
    }

    /// The machine's boot time, in seconds since the epoch.
    private static func bootTime() -> Double? {
        text("/proc/stat")?.split(separator: "\n").first { $0.hasPrefix("btime ") }.flatMap { Double($0.dropFirst(6)) }
    }

    private static func fields(_ path: String) -> [Substring]? { text(path)?.split { $0 == " " || $0.isNewline } }

    private static func text(_ path: String) -> String? {
        guard let file = fopen(path, "r") else { return nil }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16 * 1024)
        // Bounded, whatever the number of processors with lines of their own.
        while bytes.count < 1 << 20 {
            let count = fread(&buffer, 1, buffer.count, file)
            guard count > 0 else { break }
            bytes += buffer.prefix(count)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    func add(to report: inout PrometheusText) {
        report.metric("process_cpu_seconds_total", .counter, "CPU time of all threads.", [("", cpuSeconds)])
        func gauge(_ name: String, _ help: String, _ value: Double?) {
            report.metric(name, .gauge, help, value.map { [("", $0)] } ?? [])
        }
        gauge("process_resident_memory_bytes", "Resident memory.", residentBytes.map { Double($0) })
        gauge("process_virtual_memory_bytes", "Virtual memory.", virtualBytes.map { Double($0) })
        gauge("process_open_fds", "Open file descriptors.", openFiles.map { Double($0) })
        gauge("process_max_fds", "Maximum number of open file descriptors.", Double(maxFiles))
        gauge("process_threads", "Threads.", threads.map { Double($0) })
        gauge("process_start_time_seconds", "Start of the process, in Unix time.", startedAt)
    }
}
