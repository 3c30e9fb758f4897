import Foundation

/// Where a load test ran: figures of different machines, or of different versions, are not to be compared.
public struct LoadEnvironment: Codable, Equatable, Sendable {
    /// Of `reveille`, which makes the load.
    public let version: String
    /// Cores that this process may use.
    public let cores: Int
    /// Of the machine, in bytes.
    public let memory: UInt64
    /// The kernel's name, release and machine: `Linux 6.1.0-18-amd64 x86_64`.
    public let kernel: String
    /// As the kernel names it; nil where it does not.
    public let processor: String?
    /// Of the data of the run's own server; nil with another's.
    public internal(set) var fileSystem: String?

    enum CodingKeys: String, CodingKey {
        case version, cores, kernel, processor
        case memory = "memory_bytes"
        case fileSystem = "file_system"
    }

    public init(version: String, cores: Int, memory: UInt64, kernel: String, processor: String?) {
        self.version = version
        self.cores = cores
        self.memory = memory
        self.kernel = kernel
        self.processor = processor
    }

    /// That of this process. Any thread.
    public static func current(version: String) -> LoadEnvironment {
        LoadEnvironment(
            version: version, cores: usableCores,
            memory: ProcessInfo.processInfo.physicalMemory, kernel: kernelName, processor: processorName)
    }

    /// Cores that this process may run on, which `taskset` and containers may make fewer than there are.
    static var usableCores: Int {
        let status = FileManager.default.contents(atPath: "/proc/self/status") ?? Data()
        let present = ProcessInfo.processInfo.activeProcessorCount
        // The mask may have some that are not there.
        return cores(status: String(decoding: status, as: UTF8.self)).map { min($0, present) } ?? present
    }

    /// - Parameter status: `/proc/self/status`, as proc(5) describes it.
    static func cores(status: String) -> Int? {
        // A mask in hexadecimal, with a comma between each 32 of them.
        let line = status.split(separator: "\n").first { $0.hasPrefix("Cpus_allowed:") }
        let count = line?.dropFirst("Cpus_allowed:".count).reduce(0) { $0 + ($1.hexDigitValue?.nonzeroBitCount ?? 0) }
        return count.flatMap { $0 > 0 ? $0 : nil }
    }

    private static var kernelName: String {
        var names = utsname()
        guard uname(&names) == 0 else { return "unknown" }
        return [text(names.sysname), text(names.release), text(names.machine)].joined(separator: " ")
    }

    /// A field of uname(2), which ends at its first zero.
    private static func text<Field>(_ field: Field) -> String {
        withUnsafeBytes(of: field) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }

    private static var processorName: String? {
        let information = FileManager.default.contents(atPath: "/proc/cpuinfo") ?? Data()
        let line = String(decoding: information, as: UTF8.self).split(separator: "\n").first {
            $0.hasPrefix("model name")
        }
        return line?.split(separator: ":", maxSplits: 1).dropFirst().first?.trimmingCharacters(in: .whitespaces)
    }
}
