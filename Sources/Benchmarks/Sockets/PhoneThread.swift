import Foundation
import Synchronization

/// The phones of a benchmark, on a thread of their own: what they cost is not measured.
final class PhoneThread: Sendable {
    private let begin: BytePipe
    private let over: BytePipe
    private let failure = Mutex<BenchmarkError?>(nil)

    /// - Parameter body: does a lap each time that `next` says so, on the thread, and ends when it does not.
    init(_ body: @escaping @Sendable (_ next: () -> Bool) throws -> Void) throws(BenchmarkError) {
        let (begin, over) = (try BytePipe(), try BytePipe())
        self.begin = begin
        self.over = over
        let thread = Thread { [self] in
            do {
                try body { begin.take() }
            } catch {
                failure.withLock { $0 = error as? BenchmarkError ?? BenchmarkError("\(error)") }
            }
            over.endWriting()
        }
        thread.start()
    }

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
