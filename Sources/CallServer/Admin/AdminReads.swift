import AdminProtocol
import CallCore
import CallStore
import CallVocabulary
import EventLoop
import Logging

/// Reads the store for administrators: on a thread and a connection of its own, so that an audit of millions of pushes
/// keeps no phone's history waiting.
struct AdminReads: Sendable {
    let loop: EventLoop
    private let store: StoreReader
    private let clock: ServerClock
    private let log: Logger

    init(store: StoreReader, clock: ServerClock, log: Logger) throws {
        loop = try EventLoop(name: "admin reads")
        loop.start()
        self.store = store
        self.clock = clock
        self.log = log
    }

    /// Ends the thread, and the connection to the store.
    func stop() async {
        await loop.stopAndWait()
        store.close()
    }

    /// - Parameter completion: called on the reading thread with the frame to send; not at all once the loop has stopped.
    func read(_ request: some StoredRequest, _ id: RequestID, _ completion: @escaping @Sendable ([UInt8]) -> Void) {
        loop.execute { completion(frame(request, id)) }
    }

    /// What the live picture begins anew with. On the reading thread.
    func openCalls() throws(StoreFailure) -> RecoveredState { try store.openCalls() }

    private func frame(_ request: some StoredRequest, _ id: RequestID) -> [UInt8] {
        do {
            return AdminFrameWriter.result(id: id, try request.read(store, now: clock.now()))
        } catch let refusal as AdminRefusal {
            return AdminFrameWriter.error(id: id, AdminError(refusal))
        } catch {
            log.error("the store cannot be read", metadata: ["error": "\(error)"])
            return AdminFrameWriter.error(
                id: id, AdminError(SignalError(.internalError, "The store cannot be read: \(error)")))
        }
    }
}
