import AdminProtocol
import CallCore
import CallStore
import CallVocabulary
import EventLoop
import Logging

/// Reads the store for administrators, on a thread and a connection of its own, so that an audit of millions of pushes
/// delays no phone's history.
struct AdminReads: Sendable {
    let loop: EventLoop
    private let store: StoreReader
    private let settle: Settle
    private let clock: ServerClock
    private let log: Logger

    /// Has all durable records applied to the tables, and reports the success on any thread.
    typealias Settle = @Sendable (_ completion: @escaping @Sendable (_ isSettled: Bool) -> Void) -> Void

    init(store: StoreReader, settle: @escaping Settle, clock: ServerClock, log: Logger) throws {
        loop = try EventLoop(name: "admin reads", scheduling: .batch)
        loop.start()
        self.store = store
        self.settle = settle
        self.clock = clock
        self.log = log
    }

    /// Ends the thread and closes the connection to the store.
    func stop() async {
        await loop.stopAndWait()
        store.close()
    }

    /// - Parameter completion: called on the reading thread with the reply frame; not called once the loop has stopped.
    func read(_ request: some StoredRequest, _ id: RequestID, _ completion: @escaping @Sendable ([UInt8]) -> Void) {
        loop.execute { completion(frame(request, id)) }
    }

    /// Reads the state to reload the monitor with: everything committed before this call.
    /// - Parameter completion: called on any thread; not called once the reading thread has stopped.
    func openCalls(_ completion: @escaping @Sendable (Result<RecoveredState, any Error>) -> Void) {
        settle { [self] isSettled in
            guard isSettled else { return completion(.failure(NotSettled())) }
            loop.execute { completion(Result { try store.openCalls() }) }
        }
    }

    /// Committed records cannot be applied to the tables at present.
    private struct NotSettled: Error, CustomStringConvertible {
        var description: String { "the store cannot be written at present" }
    }

    private func frame(_ request: some StoredRequest, _ id: RequestID) -> [UInt8] {
        do {
            return AdminFrameWriter.result(id: id, try request.read(store, now: clock.time()))
        } catch let refusal as AdminRefusal {
            return AdminFrameWriter.error(id: id, AdminError(refusal))
        } catch {
            log.error("the store cannot be read", metadata: ["error": .string("\(error)")])
            return AdminFrameWriter.error(
                id: id, AdminError(SignalError(.internalError, "The store cannot be read: \(error)")))
        }
    }
}
