import Glibc

/// A child process. It runs until it exits or is killed, even after this object is released.
///
/// Any thread. Each child has a thread that waits for it, and a thread for each of its output pipes.
public final class ChildProcess: Sendable {
    public enum Ending: Equatable, Sendable {
        case exit(Int32)
        case signal(Int32)
    }

    /// The CPU time of an ended program and of the children that it waited for.
    public struct Usage: Sendable {
        public let userSeconds: Double
        public let systemSeconds: Double
    }

    /// Its standard input.
    public enum Input: Sendable {
        case nothing
        case text(String)
        /// An empty input that ends with ``ChildProcess/closeInput()``.
        case untilClosed
    }

    /// Its standard output.
    public enum Output: Sendable {
        case nowhere
        /// A new file, for its owner only.
        case file(String)
        /// A closure that gets each part on a thread that may block, and an empty part at the end.
        case pipe(@Sendable ([UInt8]) -> Void)
    }

    /// Its standard error.
    public enum Errors: Sendable {
        case withOutput
        case apart(Output)
    }

    /// The interval between repeated SIGKILLs.
    private static let killInterval = Duration.seconds(1)

    public let pid: Int32
    private let progress: ChildProgress
    private let input: HeldInput

    private init(_ spawned: SpawnedChild, _ progress: ChildProgress) {
        pid = spawned.pid
        self.progress = progress
        input = HeldInput(spawned.input)
    }

    /// Starts a program with all signals at their default and unblocked. Only the three standard descriptors are open.
    /// - Parameters:
    ///   - program: an absolute path.
    ///   - environment: changes to this process's environment; nil removes a variable.
    ///   - folder: the working directory; nil for the current one.
    /// - Throws: ``ChildProcessFailure/notStarted(program:errno:)``, also for an inaccessible folder or file.
    public static func start(
        _ program: String, _ arguments: [String], environment: [String: String?] = [:], folder: String? = nil,
        input: Input = .nothing, output: Output = .nowhere, errors: Errors = .withOutput
    ) throws(ChildProcessFailure) -> ChildProcess {
        let spawning = Spawning(
            program: program, arguments: arguments, environment: environment, folder: folder, input: input,
            output: output, errors: errors)
        let spawned = try spawning.spawn()
        let progress = ChildProgress(pid: spawned.pid, pipes: spawned.outputs.count)
        let child = ChildProcess(spawned, progress)
        var (isWaitedFor, unread) = (false, spawned.outputs[...])
        do {
            try DetachedThread.start { progress.waitForEnd() }
            isWaitedFor = true
            while let output = unread.first {
                try DetachedThread.start {
                    output.pass()
                    progress.pipeHasEnded()
                }
                unread.removeFirst()
            }
        } catch {
            // The system has no thread left. Without a waiter, the child must not run.
            progress.send(SIGKILL)
            if !isWaitedFor { progress.waitForEnd() }
            for output in unread { close(output.descriptor) }
            throw .notStarted(program: program, errno: error.errno)
        }
        return child
    }

    /// How the program ended; nil while it runs.
    public var ending: Ending? { progress.ending }
    /// The resources used; nil while it runs.
    public var usage: Usage? { progress.usage }

    public func send(_ signal: Int32) { progress.send(signal) }

    /// Ends the input of ``Input/untilClosed``.
    public func closeInput() { input.close() }

    /// Waits for the exit, even in a cancelled task.
    /// - Returns: nil when the program still runs after `patience`.
    public func wait(atMost patience: Duration) async -> Ending? {
        await progress.wait(for: .end, atMost: patience)
    }

    /// Waits for the exit and for the end of its output pipes, which its own children may hold.
    /// - Returns: nil when they are still open after `patience`.
    public func waitForExit(atMost patience: Duration) async -> Ending? {
        await progress.wait(for: .lastWords, atMost: patience)
    }

    /// Sends SIGTERM, then SIGKILL after `patience`, and waits for the exit without a limit: a program in
    /// uninterruptible disk I/O survives even SIGKILL.
    /// - Parameter patience: the time between SIGTERM and SIGKILL.
    @discardableResult
    public func stop(atMost patience: Duration) async -> Ending {
        send(SIGTERM)
        if let ending = await wait(atMost: patience) { return ending }
        while true {
            send(SIGKILL)
            if let ending = await wait(atMost: Self.killInterval) { return ending }
        }
    }
}
