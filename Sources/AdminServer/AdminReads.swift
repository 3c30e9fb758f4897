import AdminProtocol
import CallCore
import CallVocabulary
import Logging
import StoreInterface

/// Reads the store for administrators, off the admin thread.
package struct AdminReads: Sendable {
    let queries: any StoreQueries
    let settle: @Sendable (_ completion: @escaping @Sendable (_ isSettled: Bool) -> Void) -> Void
    let wallTime: @Sendable () -> Instant
    let log: Logger

    /// - Parameters:
    ///   - settle: makes durable records visible to `queries`, and calls back with whether they are, on any thread.
    ///   - wallTime: the system clock, by which a push is overdue.
    package init(
        queries: any StoreQueries,
        settle: @escaping @Sendable (_ completion: @escaping @Sendable (_ isSettled: Bool) -> Void) -> Void,
        wallTime: @escaping @Sendable () -> Instant, log: Logger
    ) {
        self.queries = queries
        self.settle = settle
        self.wallTime = wallTime
        self.log = log
    }

    /// - Parameter completion: called on any thread with the frame to send.
    func read(_ request: some StoredRequest, _ id: RequestID, _ completion: @escaping @Sendable ([UInt8]) -> Void) {
        Task { completion(await frame(request, id)) }
    }

    /// Reads the state to reload the monitor with: everything committed before this call.
    /// - Parameter completion: called on any thread.
    func openCalls(_ completion: @escaping @Sendable (Result<RecoveredState, any Error>) -> Void) {
        settle { isSettled in
            guard isSettled else { return completion(.failure(NotSettled())) }
            Task {
                do {
                    completion(.success(try await queries.openCalls()))
                } catch {
                    completion(.failure(error))
                }
            }
        }
    }

    /// Committed records cannot be applied to the tables at present.
    private struct NotSettled: Error, CustomStringConvertible {
        var description: String { "the store cannot be written at present" }
    }

    private func frame<Request: StoredRequest>(_ request: Request, _ id: RequestID) async -> [UInt8] {
        do {
            if Request.showsLatest {
                let isSettled = await withCheckedContinuation { done in settle { done.resume(returning: $0) } }
                guard isSettled else { throw NotSettled() }
            }
            return AdminFrameWriter.result(id: id, try await request.read(queries, now: wallTime()))
        } catch {
            return AdminFrameWriter.error(id: id, Self.refusal(error, log))
        }
    }

    /// The answer to a request for which reading the store has thrown `error`. Logs all but an `AdminRefusal`.
    static func refusal(_ error: any Error, _ log: Logger) -> AdminError {
        if let refusal = error as? AdminRefusal { return AdminError(refusal) }
        log.error("the store cannot be read", metadata: ["error": .string("\(error)")])
        return AdminError(SignalError(.internalError, "The store cannot be read: \(error)"))
    }
}
