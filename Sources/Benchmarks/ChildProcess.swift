import Foundation
import Glibc

/// A program run as a child, with its output in a file and its CPU time known at its end.
struct ChildProcess {
    struct Ending {
        /// As wait(2) gives it: 0 after exit(0).
        let status: Int32
        let userSeconds: Double
        let systemSeconds: Double
    }

    private static let pollInterval = Duration.milliseconds(5)

    let pid: Int32

    /// - Parameter output: a file that takes what it says on both of its outputs.
    static func start(_ program: String, _ arguments: [String], output: String) throws(BenchmarkError) -> ChildProcess {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // Else it inherits this thread's mask, and where that blocks SIGTERM it would never hear that it is to end.
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var words = ([program] + arguments).map { strdup($0) }
        words.append(nil)
        defer { for word in words { free(word) } }
        var pid: pid_t = 0
        let failure = posix_spawn(&pid, program, &actions, &attributes, words, environ)
        guard failure == 0 else { throw BenchmarkError("cannot run \(program): \(String(cString: strerror(failure)))") }
        return ChildProcess(pid: pid)
    }

    /// Where a program is.
    /// - Throws: with the package that has it.
    static func find(_ name: String, package: String) throws(BenchmarkError) -> String {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        // Debian keeps servers in sbin, which not everyone's path has.
        for folder in path.split(separator: ":").map(String.init) + ["/usr/bin", "/usr/sbin"] {
            let candidate = "\(folder)/\(name)"
            if access(candidate, X_OK) == 0 { return candidate }
        }
        throw BenchmarkError("there is no \(name): install \(package)")
    }

    /// Whether it has ended, without waiting.
    func ending() -> Ending? {
        var status: Int32 = 0
        var usage = rusage()
        guard wait4(pid, &status, WNOHANG, &usage) == pid else { return nil }
        return Ending(status: status, userSeconds: usage.ru_utime.seconds, systemSeconds: usage.ru_stime.seconds)
    }

    /// Waits for its end, and brings it about when the time is over.
    func wait(atMost patience: Duration) async -> Ending? {
        let deadline = ContinuousClock.now + patience
        while ContinuousClock.now < deadline {
            if let ending = ending() { return ending }
            // A cancelled task waits all the same, only busily.
            try? await Task.sleep(for: Self.pollInterval)
        }
        kill(pid, SIGKILL)
        waitpid(pid, nil, 0)
        return nil
    }

    /// Asks it to end, and waits until it has.
    func stop(atMost patience: Duration) async {
        kill(pid, SIGTERM)
        _ = await wait(atMost: patience)
    }
}

extension timeval {
    var seconds: Double { Double(tv_sec) + Double(tv_usec) / 1_000_000 }
}
