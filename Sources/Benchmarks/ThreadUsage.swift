import Foundation

/// CPU time of this process's threads of one name.
struct ThreadUsage {
    private let paths: [String]

    /// - Throws: ``BenchmarkError`` when there is no such thread.
    init(name: String) throws {
        let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        paths = tasks.map { "/proc/self/task/\($0)" }.filter { path in
            let comm = try? String(contentsOfFile: path + "/comm", encoding: .utf8)
            return comm?.trimmingCharacters(in: .whitespacesAndNewlines) == name
        }
        guard !paths.isEmpty else { throw BenchmarkError("this process has no thread called \(name)") }
    }

    /// In the program and in the kernel on its behalf, in seconds: the first field of `schedstat`, in nanoseconds.
    func seconds() throws -> Double {
        try paths.reduce(0) { sum, path in
            let text = try String(contentsOfFile: path + "/schedstat", encoding: .utf8)
            guard let nanoseconds = text.split(separator: " ").first.flatMap({ Double($0) }) else {
                throw BenchmarkError("\(path)/schedstat has no CPU time: \(text)")
            }
            return sum + nanoseconds / 1_000_000_000
        }
    }
}
