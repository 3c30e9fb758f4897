import Foundation

/// Two threads that send each other a byte through pipes, each waiting for the other's.
enum PipePing {
    /// - Parameter pings: between two looks at the clock.
    /// - Returns: nanoseconds of CPU time for a byte there and one back. How long it takes depends on where the threads run
    ///   and how deep a processor sleeps.
    static func measure(_ pings: Int, for seconds: Double) throws -> Double {
        let (there, back) = (try BytePipe(), try BytePipe())
        let echo = Thread {
            while there.take() { back.put() }
            back.endWriting()
        }
        echo.start()
        defer {
            there.endWriting()
            // Until the other thread has ended, too.
            while back.take() {}
        }
        var done = 0
        let began = (OwnUsage.now(), ContinuousClock.now)
        repeat {
            for _ in 0..<pings {
                there.put()
                guard back.take() else { throw BenchmarkError("the other thread has closed its pipe") }
            }
            done += pings
        } while (ContinuousClock.now - began.1) / .seconds(1) < seconds
        return began.0.sample(until: .now(), count: done).cpuMicroseconds * 1000
    }
}
