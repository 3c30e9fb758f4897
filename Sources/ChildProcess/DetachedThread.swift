import Glibc

/// Starts a detached thread for blocking work, which would occupy one of the few threads of Swift's pool.
enum DetachedThread {
    private final class Work: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    /// The system has no thread: there are too many, or no memory for the stack.
    struct Failure: Error {
        let errno: Int32
    }

    static func start(_ body: @escaping @Sendable () -> Void) throws(Failure) {
        // Proof: retained here; released by the thread, or below when there is no thread.
        let work = Unmanaged.passRetained(Work(body))
        var thread = pthread_t()
        let failure = pthread_create(
            &thread, nil,
            { work in
                // Proof: `work` is the pointer passed below, which is not nil.
                Unmanaged<Work>.fromOpaque(work!).takeRetainedValue().body()
                return nil
            }, work.toOpaque())
        guard failure == 0 else {
            work.release()
            throw Failure(errno: failure)
        }
        pthread_detach(thread)
    }
}
