import Synchronization
import Testing

/// Registers a step for the end of the running test, whether it passes or fails. The last step runs first.
public func atEnd(_ step: @escaping @Sendable () async -> Void) {
    guard let cleanup = Cleanup.current else { preconditionFailure("this suite lacks the trait .cleanup") }
    cleanup.steps.withLock { $0.append(step) }
}

/// The steps that ``atEnd(_:)`` registers.
public final class Cleanup: Sendable {
    @TaskLocal fileprivate static var current: Cleanup?

    fileprivate let steps = Mutex<[@Sendable () async -> Void]>([])

    /// Runs `body`, and then the steps that it has registered.
    public static func run<Value>(_ body: () async throws -> Value) async throws -> Value {
        let cleanup = Cleanup()
        let result: Result<Value, any Error>
        do {
            result = .success(try await $current.withValue(cleanup) { try await body() })
        } catch {
            result = .failure(error)
        }
        for step in cleanup.steps.withLock({ $0 }).reversed() { await step() }
        return try result.get()
    }
}

/// Runs the steps of each test case at its end.
public struct CleanupTrait: SuiteTrait, TestTrait, TestScoping {
    public var isRecursive: Bool { true }

    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        try await Cleanup.run { try await function() }
    }
}

extension Trait where Self == CleanupTrait {
    public static var cleanup: Self { Self() }
}
