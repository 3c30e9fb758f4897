import ChildProcess
import Foundation
import Synchronization
import Testing

/// Runs each test in a process without other tests: for tests that read or change state of the whole process, such as its
/// descriptors, its limits, its environment and its memory.
///
/// The process is this test program, with one test. Its cases run one after the other, in the same process. Put the
/// trait before `.world` and `.cleanup`, which then apply in that process only.
///
/// An exit test of Swift Testing blocks a thread of Swift's pool, which has one for each core, until its process ends (6.3.1,
/// `ExitTest._processRecords`). Two long ones would stop all other tests of a machine with two cores.
public struct OwnProcessTrait: SuiteTrait, TestTrait, TestScoping {
    /// The environment variable of such a process.
    private static let variable = "TEST_OWN_PROCESS"
    private static let program = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().path
    /// The longest time until a process that hangs is killed. Swift Testing's time limits do not end a test.
    private static let patience = Duration.seconds(600)
    /// The parameterized tests whose process was started.
    private static let started = Mutex<Set<Test.ID>>([])

    public var isRecursive: Bool { true }

    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        guard ProcessInfo.processInfo.environment[Self.variable] == nil else { return try await function() }
        // The process of the first case runs all cases.
        if test.isParameterized, !Self.started.withLock({ $0.insert(test.id).inserted }) { return }
        let arguments = ["--testing-library", "swift-testing", "--no-parallel", "--filter", Self.pattern(test.id)]
        let result = try await ChildProcess.run(
            Self.program, arguments, environment: [Self.variable: "1"], within: Self.patience)
        guard result.ending != .exit(0) else { return }
        // Indented, because programs look for the lines of this process's own tests.
        let lines = result.output.split(separator: "\n").map { "    \($0)" }.joined(separator: "\n")
        Issue.record("its own process: \(result.ending)\n\(lines)", sourceLocation: test.sourceLocation)
    }

    /// A regular expression that matches the ID only.
    private static func pattern(_ id: Test.ID) -> String {
        let special = #"\^$.|?*+()[]{}"#
        let escaped = String(describing: id).map { special.contains($0) ? "\\\($0)" : "\($0)" }
        return "^" + escaped.joined() + "$"
    }
}

extension Trait where Self == OwnProcessTrait {
    public static var ownProcess: Self { Self() }
}
