import Glibc

/// A program that runs as a child of this process, until it ends by itself or by a signal: not by being released.
///
/// May be used from any thread. Each one has a thread of its own that waits for it, and one for each pipe it writes to.
public final class ChildProcess: Sendable {
    /// How a program ended.
    public enum Ending: Equatable, Sendable {
        case exit(Int32)
        case signal(Int32)
    }

    /// The CPU time of a program that has ended, and of those children of it that it has waited for.
    public struct Usage: Sendable {
        public let userSeconds: Double
        public let systemSeconds: Double
    }

    /// What it reads.
    public enum Input: Sendable {
        case nothing
        case text(String)
        /// Nothing, but the end comes only with ``ChildProcess/closeInput()``.
        case untilClosed
    }

    /// Where it writes to.
    public enum Output: Sendable {
        case nowhere
        /// A file, made anew and for its owner only.
        case file(String)
        /// To this process, which is given each part on a thread that may block, and an empty one at the end.
        case pipe(@Sendable ([UInt8]) -> Void)
    }

    /// Where it writes its errors to.
    public enum Errors: Sendable {
        case withOutput
        case apart(Output)
    }

    /// Between two SIGKILLs.
    private static let killInterval = Duration.seconds(1)

    public let pid: Int32
    private let progress: ChildProgress
    private let input: HeldInput

    private init(_ spawned: SpawnedChild, _ progress: ChildProgress) {
        pid = spawned.pid
        self.progress = progress
        input = HeldInput(spawned.input)
    }

    /// Starts a program with no signal ignored or blocked, and with no open file but its standard three.
    /// - Parameters:
    ///   - program: its path, absolute.
    ///   - environment: what differs from that of this process; nil takes a variable out.
    ///   - folder: where it works; here if there is none.
    /// - Throws: ``ChildProcessFailure/notStarted(program:errno:)``, also for a folder or a file that is not to be had.
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
            // The system has no thread left, and a child that nobody waits for is not to stay.
            progress.send(SIGKILL)
            if !isWaitedFor { progress.waitForEnd() }
            for output in unread { close(output.descriptor) }
            throw .notStarted(program: program, errno: error.errno)
        }
        return child
    }

    /// How it has ended; nil as long as it runs.
    public var ending: Ending? { progress.ending }
    /// What it has used; nil as long as it runs.
    public var usage: Usage? { progress.usage }

    /// Sends a signal, if it still runs.
    public func send(_ signal: Int32) { progress.send(signal) }

    /// Ends the input of one that was started with ``Input/untilClosed``.
    public func closeInput() { input.close() }

    /// Waits for its end, also in a task that is cancelled.
    /// - Returns: nil if it still runs when the time is over.
    public func wait(atMost patience: Duration) async -> Ending? {
        await progress.wait(for: .end, atMost: patience)
    }

    /// Waits for its end and for all that it, or who has its pipes from it, writes.
    /// - Returns: nil if that has not come when the time is over.
    public func waitForExit(atMost patience: Duration) async -> Ending? {
        await progress.wait(for: .lastWords, atMost: patience)
    }

    /// Asks it to end by SIGTERM, by SIGKILL when the time is over, and waits until it has, however long that takes
    /// then: not even SIGKILL ends a program that waits for a disk.
    /// - Parameter patience: what SIGTERM may take.
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
