import Foundation
import Glibc
import Synchronization

/// A program under way, and what it says.
final class Program: Sendable {
    /// How a program ended: its exit code, or the signal that ended it.
    enum Ending: Equatable, Sendable {
        case exit(Int32)
        case signal(Int32)
    }

    /// All that a program had to say.
    struct Result: Sendable {
        let ending: Ending
        let output: String
        let errors: String
        var errorLines: [Substring] { errors.split(separator: "\n") }
    }

    /// The executable of this package, built next to the tests' own.
    static let reveille = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent().appendingPathComponent("reveille").path

    /// The system would not start it.
    struct NotStarted: Error {
        let path: String
        let errno: Int32
    }

    let output = Journal<String>()
    let errors = Journal<String>()
    private let endings = Journal<Ending>()
    private let closings = Journal<Void>()
    private let pid: pid_t

    /// Held from the making of a program's pipes to its start, so that no other one inherits them.
    private static let starting = Mutex(())

    /// Not by Foundation's `Process`: with several starting at once, that of Swift 6.3 crashes now and then.
    init(_ path: String, _ arguments: [String], environment: [String: String] = [:]) throws {
        let (pid, output, errors) = try Self.starting.withLock { _ in
            let (output, errors) = (try Self.makePipe(), try Self.makePipe())
            defer {
                close(output.writeEnd)
                close(errors.writeEnd)
            }
            do {
                let pid = try Self.spawn(path, arguments, environment, output.writeEnd, errors.writeEnd)
                return (pid, output.readEnd, errors.readEnd)
            } catch {
                close(output.readEnd)
                close(errors.readEnd)
                throw error
            }
        }
        self.pid = pid
        Self.read(output, into: self.output, closings)
        Self.read(errors, into: self.errors, closings)
        Self.wait(for: pid, endings)
    }

    private static func spawn(
        _ path: String, _ arguments: [String], _ environment: [String: String], _ output: Int32, _ errors: Int32
    ) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
        posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO)
        // What this process ignores or blocks (SIGPIPE, by libwebsockets) is no business of the program's.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var (all, none) = (sigset_t(), sigset_t())
        sigfillset(&all)
        sigemptyset(&none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))

        let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }.map { "\($0)=\($1)" }
        let (argv, envp) = (([path] + arguments).map { strdup($0) } + [nil], variables.map { strdup($0) } + [nil])
        defer { for text in argv + envp { free(text) } }
        var pid: pid_t = 0
        let failure = posix_spawn(&pid, path, &actions, &attributes, argv, envp)
        guard failure == 0 else { throw NotStarted(path: path, errno: failure) }
        return pid
    }

    /// Both ends are closed in programs that are started later.
    private static func makePipe() throws -> (readEnd: Int32, writeEnd: Int32) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw NotStarted(path: "a pipe", errno: errno) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    /// Waits on a thread of its own, because waiting blocks.
    private static func wait(for pid: pid_t, _ endings: Journal<Ending>) {
        Thread.detachNewThread {
            var status: Int32 = 0
            while waitpid(pid, &status, 0) < 0, errno == EINTR {}
            // As WIFEXITED, WEXITSTATUS and WTERMSIG do it (wait(2)); Swift does not see macros with arguments.
            endings.add(status & 0x7F == 0 ? .exit(status >> 8 & 0xFF) : .signal(status & 0x7F))
        }
    }

    /// Reads lines, on a thread of its own too.
    private static func read(_ descriptor: Int32, into journal: Journal<String>, _ closings: Journal<Void>) {
        Thread.detachNewThread {
            var rest: [UInt8] = []
            var chunk = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = Glibc.read(descriptor, &chunk, chunk.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { break }
                rest += chunk.prefix(count)
                while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                    journal.add(String(decoding: rest[..<end], as: UTF8.self))
                    rest.removeFirst(end + 1)
                }
            }
            close(descriptor)
            if !rest.isEmpty { journal.add(String(decoding: rest, as: UTF8.self)) }
            closings.add(())
        }
    }

    func send(_ signal: Int32) {
        kill(pid, signal)
    }

    /// Waits for its end.
    func ending(within limit: Duration = .seconds(15)) async throws -> Ending {
        do {
            return try await endings.first("the program ends", within: limit) { $0 }
        } catch {
            throw InVain(what: "the program ends", seen: output.entries + errors.entries)
        }
    }

    /// Waits for its end and for all it had to say.
    func result(within limit: Duration = .seconds(30)) async throws -> Result {
        let ending = try await ending(within: limit)
        _ = try await eventually("its pipes are closed") { closings.count == 2 ? true : nil }
        return Result(
            ending: ending, output: output.entries.joined(separator: "\n"),
            errors: errors.entries.joined(separator: "\n"))
    }

    /// Ends it if it still runs.
    func abandon() async {
        if endings.count == 0 { kill(pid, SIGKILL) }
        _ = try? await ending()
    }

    /// Runs a program to its end.
    static func run(_ path: String, _ arguments: [String], environment: [String: String] = [:]) async throws -> Result {
        let program = try Program(path, arguments, environment: environment)
        do {
            return try await program.result()
        } catch {
            await program.abandon()
            throw error
        }
    }

    /// Runs `reveille` to its end.
    static func reveille(_ arguments: String...) async throws -> Result {
        try await run(reveille, arguments)
    }

    /// The folder of the scripts.
    static var scripts: String { Bundle.module.bundlePath + "/Scripts" }

    /// Runs one of the scripts that play a client with Debian's Python libraries.
    static func script(_ name: String, _ arguments: String...) async throws -> Result {
        try await script(name, arguments)
    }

    static func script(_ name: String, _ arguments: [String]) async throws -> Result {
        let path = scripts + "/" + name
        return try await run("/usr/bin/python3", [path] + arguments, environment: ["PYTHONDONTWRITEBYTECODE": "1"])
    }
}
