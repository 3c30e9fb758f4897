import Glibc

/// A thread that nobody waits for, for work that blocks: the threads of Swift's pool are few.
enum DetachedThread {
    private final class Work: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    static func start(_ body: @escaping @Sendable () -> Void) {
        // Retained here, released by the thread.
        let work = Unmanaged.passRetained(Work(body)).toOpaque()
        var thread = pthread_t()
        let failure = pthread_create(
            &thread, nil,
            { work in
                // `work` is what was passed below, which is not nil.
                Unmanaged<Work>.fromOpaque(work!).takeRetainedValue().body()
                return nil
            }, work)
        precondition(failure == 0, "no thread to be had: \(String(cString: strerror(failure)))")
        pthread_detach(thread)
    }
}
