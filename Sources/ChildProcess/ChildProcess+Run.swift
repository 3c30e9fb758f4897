import Glibc
import Synchronization

extension ChildProcess {
    /// The result of a program that has ended.
    public struct Result: Sendable {
        public let ending: Ending
        public let usage: Usage
        /// Includes standard error unless it was captured separately.
        public let output: String
        public let errors: String
    }

    /// Runs a program to its end.
    /// - Parameters:
    ///   - input: its standard input.
    ///   - areErrorsApart: whether standard error is captured separately.
    /// - Throws: ``ChildProcessFailure``. The program no longer runs then.
    public static func run(
        _ program: String, _ arguments: [String], environment: [String: String?] = [:], folder: String? = nil,
        input: String? = nil, areErrorsApart: Bool = false, within limit: Duration = .seconds(30)
    ) async throws(ChildProcessFailure) -> Result {
        let (output, errors) = (Said(), Said())
        let child = try start(
            program, arguments, environment: environment, folder: folder,
            input: input.map { .text($0) } ?? .nothing, output: .pipe(output.add),
            errors: areErrorsApart ? .apart(.pipe(errors.add)) : .withOutput)
        guard let ending = await child.waitForExit(atMost: limit), let usage = child.usage else {
            child.send(SIGKILL)
            throw .tookTooLong(program: program, limit: limit, output: output.text + errors.text)
        }
        return Result(ending: ending, usage: usage, output: output.text, errors: errors.text)
    }

    private final class Said: Sendable {
        private let bytes = Mutex<[UInt8]>([])
        var text: String { bytes.withLock { String(decoding: $0, as: UTF8.self) } }
        func add(_ part: [UInt8]) { bytes.withLock { $0 += part } }
    }
}
