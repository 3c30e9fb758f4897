import Foundation
import Synchronization

/// The phones of a benchmark, on a thread of their own: what they cost is not measured.
final class PhoneThread: Sendable {
    private let begin: BytePipe
    private let over: BytePipe
    private let failure = Mutex<BenchmarkError?>(nil)
    private let clock = Mutex<clockid_t?>(nil)

    /// - Parameter body: does a lap each time that `next` says so, on the thread, and ends when it does not.
    init(_ body: @escaping @Sendable (_ next: () -> Bool) throws -> Void) throws(BenchmarkError) {
        let (begin, over) = (try BytePipe(), try BytePipe())
        self.begin = begin
        self.over = over
        let thread = Thread { [self] in
            var own = clockid_t()
            // Fails for a thread that is no more.
            pthread_getcpuclockid(pthread_self(), &own)
            clock.withLock { $0 = own }
            do {
                try body { begin.take() }
            } catch {
                failure.withLock { $0 = error as? BenchmarkError ?? BenchmarkError("\(error)") }
            }
            over.endWriting()
        }
        thread.start()
    }

    /// CPU time that the phones have used. Until ``end()``.
    var seconds: Double { clock.withLock { $0 }.map(OwnUsage.seconds) ?? 0 }

    /// Has the phones do a lap.
    func startLap() { begin.put() }

    /// Waits until the thread has ended, which it does after the lap that it is at, or when its connections are closed. To
    /// be called once.
    /// - Returns: what has stopped it before.
    @discardableResult
    func end() -> BenchmarkError? {
        begin.endWriting()
        while over.take() {}
        return failure.withLock { $0 }
    }
}
