import Glibc

/// A thread that nobody waits for, for work that blocks: the threads of Swift's pool are few.
enum DetachedThread {
    private final class Work: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    /// The system gives no thread: there are too many, or no memory for its stack.
    struct Failure: Error {
        let errno: Int32
    }

    static func start(_ body: @escaping @Sendable () -> Void) throws(Failure) {
        // Retained here, released by the thread, or here where there is none.
        let work = Unmanaged.passRetained(Work(body))
        var thread = pthread_t()
        let failure = pthread_create(
            &thread, nil,
            { work in
                // `work` is what was passed below, which is not nil.
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
