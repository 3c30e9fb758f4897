import CLinux
import Glibc
import Synchronization

/// A started child, and this process's ends of its pipes.
struct SpawnedChild {
    let pid: pid_t
    let input: Int32?
    let outputs: [PipedOutput]
}

/// The parameters of one start.
struct Spawning {
    let program: String
    let arguments: [String]
    let environment: [String: String?]
    let folder: String?
    let input: ChildProcess.Input
    let output: ChildProcess.Output
    let errors: ChildProcess.Errors

    /// Descriptors for the child, which this process closes after the start.
    private struct Descriptors {
        var forChild: [Int32] = []
        var input: Int32?
        var outputs: [PipedOutput] = []
    }

    func spawn() throws(ChildProcessFailure) -> SpawnedChild {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        var open = Descriptors()
        defer { for descriptor in open.forChild { close(descriptor) } }
        do {
            try add(input, to: &actions, &open)
            try add(output, as: STDOUT_FILENO, to: &actions, &open)
            switch errors {
            case .withOutput: posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO)
            case .apart(let errors): try add(errors, as: STDERR_FILENO, to: &actions, &open)
            }
            // Closes descriptors without FD_CLOEXEC, including those that other threads open meanwhile.
            posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1)
            if let folder { posix_spawn_file_actions_addchdir_np(&actions, folder) }
            return SpawnedChild(pid: try spawn(&actions), input: open.input, outputs: open.outputs)
        } catch {
            if let input = open.input { close(input) }
            for output in open.outputs { close(output.descriptor) }
            throw error
        }
    }

    private func spawn(_ actions: inout posix_spawn_file_actions_t) throws(ChildProcessFailure) -> pid_t {
        // By default the child inherits ignored signals and this thread's signal mask. The threads of Swift's pool
        // block nearly all signals.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var (all, none) = (sigset_t(), sigset_t())
        sigfillset(&all)
        sigemptyset(&none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setsigmask(&attributes, &none)
        // In its own process group, so that Ctrl-C reaches only this process, which ends its children itself.
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP))
        let argv = ([program] + arguments).map { strdup($0) } + [nil]
        let envp = variables.map { strdup($0) } + [nil]
        defer { for text in argv + envp { free(text) } }
        var pid: pid_t = 0
        let failure = posix_spawn(&pid, program, &actions, &attributes, argv, envp)
        guard failure == 0 else { throw .notStarted(program: program, errno: failure) }
        return pid
    }

    /// `NAME=value` for each variable of the child.
    private var variables: [String] {
        var variables: [String] = []
        var next = environ
        while let text = next.pointee {
            let variable = String(cString: text)
            let name = variable.prefix { $0 != "=" }
            if !environment.keys.contains(String(name)) { variables.append(variable) }
            next += 1
        }
        for case (let name, let value?) in environment { variables.append("\(name)=\(value)") }
        return variables
    }

    private func add(
        _ input: ChildProcess.Input, to actions: inout posix_spawn_file_actions_t, _ open: inout Descriptors
    ) throws(ChildProcessFailure) {
        switch input {
        case .nothing:
            posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        case .text(let text):
            let file = try memoryFile(text)
            open.forChild.append(file)
            posix_spawn_file_actions_adddup2(&actions, file, STDIN_FILENO)
        case .untilClosed:
            let pipe = try makePipe()
            open.forChild.append(pipe.readEnd)
            open.input = pipe.writeEnd
            posix_spawn_file_actions_adddup2(&actions, pipe.readEnd, STDIN_FILENO)
        }
    }

    private func add(
        _ output: ChildProcess.Output, as descriptor: Int32, to actions: inout posix_spawn_file_actions_t,
        _ open: inout Descriptors
    ) throws(ChildProcessFailure) {
        switch output {
        case .nowhere:
            posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_WRONLY, 0)
        case .file(let path):
            posix_spawn_file_actions_addopen(&actions, descriptor, path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        case .pipe(let receive):
            let pipe = try makePipe()
            open.forChild.append(pipe.writeEnd)
            open.outputs.append(PipedOutput(descriptor: pipe.readEnd, receive: receive))
            posix_spawn_file_actions_adddup2(&actions, pipe.writeEnd, descriptor)
        }
    }

    /// With FD_CLOEXEC on both ends.
    private func makePipe() throws(ChildProcessFailure) -> (readEnd: Int32, writeEnd: Int32) {
        var ends: [Int32] = [-1, -1]
        guard pipe2(&ends, O_CLOEXEC) == 0 else { throw .notStarted(program: program, errno: errno) }
        return (ends[0], ends[1])
    }

    /// A file, not a pipe: no thread has to write, and there is no SIGPIPE.
    private func memoryFile(_ text: String) throws(ChildProcessFailure) -> Int32 {
        let file = memfd_create("input", UInt32(MFD_CLOEXEC))
        guard file >= 0 else { throw .notStarted(program: program, errno: errno) }
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
            guard count > 0 else {
                let failure = errno
                close(file)
                throw .notStarted(program: program, errno: failure)
            }
            rest = rest.dropFirst(count)
        }
        lseek(file, 0, SEEK_SET)
        return file
    }
}

/// This process's end of an output pipe.
struct PipedOutput: Sendable {
    private static let partSize = 65_536

    let descriptor: Int32
    let receive: @Sendable ([UInt8]) -> Void

    /// Reads until all writers have closed the pipe, then closes it. Blocks.
    func pass() {
        var part: [UInt8]
        repeat {
            part = [UInt8](unsafeUninitializedCapacity: Self.partSize) { buffer, count in
                var result: Int
                repeat {
                    result = read(descriptor, buffer.baseAddress, buffer.count)
                } while result < 0 && errno == EINTR
                count = max(0, result)
            }
            receive(part)
        } while !part.isEmpty
        close(descriptor)
    }
}

/// The write end of an input pipe. Closed once: on demand, or when this object is released.
final class HeldInput: Sendable {
    private let descriptor: Mutex<Int32?>

    init(_ descriptor: Int32?) { self.descriptor = Mutex(descriptor) }

    deinit { close() }

    func close() {
        descriptor.withLock { descriptor in
            if let held = descriptor { Glibc.close(held) }
            descriptor = nil
        }
    }
}
