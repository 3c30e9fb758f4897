import ChildProcess
import Foundation
import Glibc
import Synchronization
import TestCleanup
import Testing

@Suite("Other programs, run as children", .timeLimit(.minutes(5)))
struct ChildProcessTests {
    private static let patience = Duration.seconds(40)

    private func sh(
        _ script: String, environment: [String: String?] = [:], folder: String? = nil, input: String? = nil,
        areErrorsApart: Bool = false
    ) async throws -> ChildProcess.Result {
        try await ChildProcess.run(
            "/bin/sh", ["-c", script], environment: environment, folder: folder, input: input,
            areErrorsApart: areErrorsApart, within: Self.patience)
    }

    private final class Parts: Sendable {
        private let bytes = Mutex<[UInt8]>([])
        var text: String { bytes.withLock { String(decoding: $0, as: UTF8.self) } }
        func add(_ part: [UInt8]) { bytes.withLock { $0 += part } }
    }

    @Test("the exit code is told, and stays", arguments: [0, 1, 70, 255] as [Int32])
    func exitCode(code: Int32) async throws {
        let child = try ChildProcess.start("/bin/sh", ["-c", "exit \(code)"])
        #expect(await child.wait(atMost: Self.patience) == .exit(code))
        #expect(child.ending == .exit(code))
        // To nobody: its number may be another's now.
        child.send(SIGKILL)
        #expect(await child.stop(atMost: .zero) == .exit(code))
    }

    @Test("the signal that ends a program is told, and before that that it runs")
    func signal() async throws {
        let child = try ChildProcess.start("/bin/sleep", ["30"])
        #expect(child.ending == nil && child.usage == nil)
        #expect(await child.wait(atMost: .milliseconds(1)) == nil)
        child.send(SIGTERM)
        #expect(await child.wait(atMost: Self.patience) == .signal(SIGTERM))
    }

    @Test("one that does not heed SIGTERM is killed when the time is over")
    func stubborn() async throws {
        let parts = Parts()
        let child = try ChildProcess.start(
            "/bin/sh", ["-c", "trap '' TERM; echo ready; while :; do sleep 1; done"], output: .pipe(parts.add))
        while parts.text.isEmpty && child.ending == nil { await Task.yield() }
        #expect(await child.stop(atMost: .milliseconds(50)) == .signal(SIGKILL))
    }

    @Test("several wait for one end, and each is told of it")
    func waiters() async throws {
        let child = try ChildProcess.start("/bin/cat", [], input: .untilClosed)
        let endings = await withTaskGroup(of: ChildProcess.Ending?.self) { group in
            for _ in 0..<20 { group.addTask { await child.wait(atMost: Self.patience) } }
            group.addTask { await child.wait(atMost: .milliseconds(1)) }
            var endings: [ChildProcess.Ending?] = []
            for await ending in group {
                // The impatient one, whose waiting leaves the others'.
                if endings.isEmpty { child.closeInput() }
                endings.append(ending)
            }
            return endings
        }
        #expect(endings == [nil] + Array(repeating: .exit(0), count: 20))
    }

    @Test("what it writes comes whole, its errors among it or apart")
    func output() async throws {
        let long = try await sh("seq 100000; echo oh >&2")
        #expect(long.output == (1...100_000).map { "\($0)\n" }.joined() + "oh\n")
        #expect(long.errors.isEmpty)
        let apart = try await sh("echo word; echo oh >&2; exit 3", areErrorsApart: true)
        #expect((apart.output, apart.errors) == ("word\n", "oh\n"))
        #expect(apart.ending == .exit(3))
    }

    @Test("a file takes both outputs, and is its owner's only")
    func file() async throws {
        let path = NSTemporaryDirectory() + "child-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        for word in ["longer than the next", "word"] {
            let child = try ChildProcess.start("/bin/sh", ["-c", "echo \(word); echo oh >&2"], output: .file(path))
            #expect(await child.wait(atMost: Self.patience) == .exit(0))
        }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "word\noh\n")
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
    }

    @Test("what it is to read it reads, as long as that may be, and else nothing")
    func input() async throws {
        let text = String(repeating: "many bytes more than a pipe holds\n", count: 20_000)
        #expect(try await sh("cat", input: text).output == text)
        // Nobody is hit by SIGPIPE for it.
        #expect(try await sh("exit 0", input: text).ending == .exit(0))
        #expect(try await sh("cat").output.isEmpty)
        let held = try ChildProcess.start("/bin/cat", [], input: .untilClosed)
        #expect(await held.wait(atMost: .milliseconds(20)) == nil)
        held.closeInput()
        held.closeInput()
        #expect(await held.wait(atMost: Self.patience) == .exit(0))
    }

    @Test("its environment is this process's, save for what is changed or taken out", .ownProcess)
    func environment() async throws {
        setenv("CHILD_PROCESS_KEPT", "kept", 1)
        setenv("CHILD_PROCESS_CHANGED", "old", 1)
        setenv("CHILD_PROCESS_GONE", "here", 1)
        let script = "env | grep ^CHILD_PROCESS_ | sort"
        let changes: [String: String?] = [
            "CHILD_PROCESS_CHANGED": "a=b c", "CHILD_PROCESS_GONE": nil, "CHILD_PROCESS_NEW": "",
        ]
        #expect(
            try await sh(script, environment: changes).output
                == "CHILD_PROCESS_CHANGED=a=b c\nCHILD_PROCESS_KEPT=kept\nCHILD_PROCESS_NEW=\n")
    }

    @Test("it works in the folder that is given")
    func folder() async throws {
        #expect(try await sh("pwd", folder: "/usr/bin").output == "/usr/bin\n")
        #expect(try await sh("pwd").output == FileManager.default.currentDirectoryPath + "\n")
        #expect(throws: ChildProcessFailure.notStarted(program: "/bin/sh", errno: ENOENT)) {
            try ChildProcess.start("/bin/sh", [], folder: "/not/there")
        }
    }

    @Test("a program that is not there is named, with what to install, and leaves nothing open", .ownProcess)
    func missing() async throws {
        let before = try openDescriptors()
        let notStarted = await #expect(throws: ChildProcessFailure.self) {
            try await ChildProcess.run("/usr/bin/not-there", [], input: "text", areErrorsApart: true)
        }
        #expect(notStarted == .notStarted(program: "/usr/bin/not-there", errno: ENOENT))
        #expect(notStarted?.description == "cannot run /usr/bin/not-there: No such file or directory")
        #expect(throws: ChildProcessFailure.self) {
            try ChildProcess.start("/usr/bin/not-there", [], input: .untilClosed)
        }
        let left = try await openDescriptors(beyond: before)
        #expect(left == [])
        let missing = #expect(throws: ChildProcessFailure.self) {
            try ChildProcess.find("not-there", package: "not-there-tools")
        }
        #expect(missing?.description == "there is no not-there: install not-there-tools")
        #expect(try ChildProcess.find("sh", package: "dash").hasSuffix("/sh"))
    }

    @Test("without a thread to wait for it no program is left running, and nothing open", .ownProcess)
    func noThread() async throws {
        // GNU extensions, which the Glibc module does not declare.
        let get = try Self.function("pthread_getattr_default_np")
        let set = try Self.function("pthread_setattr_default_np")
        let attributes = UnsafeMutablePointer<pthread_attr_t>.allocate(capacity: 2)
        defer { attributes.deallocate() }
        let (old, huge) = (attributes, attributes + 1)
        #expect(get(old) == 0 && pthread_attr_init(huge) == 0)
        defer {
            _ = set(old)
            pthread_attr_destroy(old)
            pthread_attr_destroy(huge)
        }
        let folder = NSTemporaryDirectory() + "child-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let before = try openDescriptors()
        // More than there are addresses for.
        #expect(pthread_attr_setstacksize(huge, 1 << 50) == 0 && set(huge) == 0)
        let thrown = #expect(throws: ChildProcessFailure.self) {
            try ChildProcess.start(
                "/bin/sh", ["-c", "exec sleep 30"], folder: folder, input: .untilClosed, output: .pipe { _ in })
        }
        #expect(set(old) == 0)
        #expect(thrown == .notStarted(program: "/bin/sh", errno: EAGAIN))
        let left = try await openDescriptors(beyond: before)
        #expect(left == [])
        #expect(try !processes(in: folder))
    }

    private static func function(_ name: String) throws
        -> @convention(c) (UnsafeMutablePointer<pthread_attr_t>) -> Int32
    {
        let symbol = try #require(dlsym(nil, name))
        // Both take an attribute's address, and give an error's number.
        return unsafeBitCast(symbol, to: (@convention(c) (UnsafeMutablePointer<pthread_attr_t>) -> Int32).self)
    }

    /// Whether a program works in `folder`.
    private func processes(in folder: String) throws -> Bool {
        try FileManager.default.contentsOfDirectory(atPath: "/proc").contains { process in
            Int(process) != nil
                && (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process)/cwd")) == folder
        }
    }

    @Test("one that takes too long is killed, and its words are told")
    func limit() async throws {
        let thrown = await #expect(throws: ChildProcessFailure.self) {
            try await ChildProcess.run(
                "/bin/sh", ["-c", "echo $$; exec sleep 30"], within: .milliseconds(500))
        }
        guard case .tookTooLong("/bin/sh", _, let output) = thrown else {
            Issue.record("\(String(describing: thrown))")
            return
        }
        let pid = try #require(Int32(output.trimmingCharacters(in: .whitespacesAndNewlines)))
        while kill(pid, 0) == 0 { await Task.yield() }
    }

    @Test("the last words come after the end when another has the pipe still")
    func lastWords() async throws {
        let (parts, script) = (Parts(), "(read line; echo late) <&3 & exit 0")
        let folder = NSTemporaryDirectory() + "child-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        #expect(mkfifo(folder + "/go", 0o600) == 0)
        let child = try ChildProcess.start(
            "/bin/sh", ["-c", "exec 3<>go; " + script], folder: folder, output: .pipe(parts.add))
        #expect(await child.wait(atMost: Self.patience) == .exit(0))
        #expect(await child.waitForExit(atMost: .milliseconds(20)) == nil)
        #expect(parts.text.isEmpty)
        try Data("\n".utf8).write(to: URL(filePath: folder + "/go"))
        #expect(await child.waitForExit(atMost: Self.patience) == .exit(0))
        #expect(parts.text == "late\n")
    }

    /// Whether a signal is blocked, and whether it is ignored, as /proc has it of a program.
    private func isHeldBack(_ signal: Int32, _ status: String) -> [Bool] {
        ["SigBlk", "SigIgn"].map { name in
            let line = status.split(separator: "\n").first { $0.hasPrefix(name) } ?? ""
            let set = UInt64(line.suffix(16), radix: 16) ?? .max
            return set >> UInt64(signal - 1) & 1 == 1
        }
    }

    @Test("a signal that is blocked or ignored here is not in the program", .ownProcess)
    func signalsOfTheParent() async throws {
        let old = Glibc.signal(SIGUSR2, SIG_IGN)
        defer { _ = Glibc.signal(SIGUSR2, old) }
        let parts = Parts()
        let child = try blocking(SIGUSR1) {
            let own = try String(contentsOfFile: "/proc/thread-self/status", encoding: .utf8)
            #expect(isHeldBack(SIGUSR1, own) == [true, false])
            #expect(isHeldBack(SIGUSR2, own)[1])
            return try ChildProcess.start("/bin/cat", ["/proc/self/status"], output: .pipe(parts.add))
        }
        #expect(await child.waitForExit(atMost: Self.patience) == .exit(0))
        for signal in [SIGUSR1, SIGUSR2, SIGTERM, SIGPIPE] {
            #expect(isHeldBack(signal, parts.text) == [false, false])
        }
    }

    /// Runs `body` on a thread that blocks a signal.
    private func blocking<Value>(_ signal: Int32, _ body: () throws -> Value) rethrows -> Value {
        var (set, old) = (sigset_t(), sigset_t())
        sigemptyset(&set)
        sigaddset(&set, signal)
        pthread_sigmask(SIG_BLOCK, &set, &old)
        defer { pthread_sigmask(SIG_SETMASK, &old, nil) }
        return try body()
    }

    /// Which are open, and for what; without the one for the folder that is read, and without those of Dispatch's timers
    /// and queues, which it opens when it likes.
    private func openDescriptors() throws -> [String] {
        let folder = "/proc/self/fd"
        return try FileManager.default.contentsOfDirectory(atPath: folder).compactMap { number in
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: folder + "/" + number)
            let isOfDispatch = target?.wholeMatch(of: /anon_inode:\[(timerfd|eventfd|eventpoll)\]/) != nil
            return isOfDispatch ? nil : target.map { "\(number): \($0)" }
        }.sorted()
    }

    /// What is open beyond what was, once nothing is, or after some time. The ends of a program's pipes are closed on other
    /// threads: before, one may be open still.
    private func openDescriptors(beyond before: [String]) async throws -> Set<String> {
        let deadline = ContinuousClock.now + .seconds(20)
        while try !Set(openDescriptors()).isSubset(of: before), ContinuousClock.now < deadline {
            // A wait would open a descriptor of its own.
            await Task.yield()
        }
        return try Set(openDescriptors()).subtracting(before)
    }

    @Test("no file that is open here is open in the program, be it marked or not")
    func descriptors() async throws {
        var ends: [Int32] = [-1, -1]
        #expect(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        #expect(fcntl(ends[0], F_GETFD) & FD_CLOEXEC == 0)
        // `ls` opens the folder itself as the next one.
        #expect(try await ChildProcess.run("/bin/ls", ["/proc/self/fd"], input: "").output == "0\n1\n2\n3\n")
    }

    @Test("with 1,500 files open 200 programs start and end, and nothing is left open", .ownProcess)
    func manyDescriptors() async throws {
        var limit = rlimit()
        #expect(getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
        let old = limit
        limit.rlim_cur = limit.rlim_max
        #expect(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
        var files: [Int32] = []
        for _ in 0..<1_500 { files.append(open("/dev/null", O_RDONLY)) }
        #expect(files.allSatisfy { $0 >= 0 })
        defer {
            for file in files { close(file) }
            var old = old
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &old)
        }
        let before = try openDescriptors()
        for _ in 0..<20 {
            try await withThrowingTaskGroup(of: ChildProcess.Ending.self) { group in
                for number in 0..<10 as Range<Int32> {
                    group.addTask { try await sh("cat; exit \(number)", input: "text").ending }
                }
                var codes: Set<Int32> = []
                for try await case .exit(let code) in group { codes.insert(code) }
                #expect(codes == Set(0..<10))
            }
        }
        let left = try await openDescriptors(beyond: before)
        #expect(left == [])
    }

    @Test("the CPU time of a program is known at its end")
    func usage() async throws {
        let busy = try await sh("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done").usage
        #expect(busy.userSeconds > 0)
        #expect(busy.userSeconds + busy.systemSeconds < 20)
    }
}
