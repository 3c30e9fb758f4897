import CallVocabulary
import Dispatch
import EventLoop
import LogCapture
import Synchronization
import TestCleanup
import Testing

@testable import CallServer

@Suite(.cleanup) struct ShardOutletsTests {
    /// - Returns: a semaphore that releases the loop, once it is blocked.
    private static func hold(_ loop: EventLoop) -> DispatchSemaphore {
        let (isHeld, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        loop.execute {
            isHeld.signal()
            gate.wait()
        }
        isHeld.wait()
        return gate
    }

    @Test func `a connection of a shard that does not keep up is ended once, however much is sent to it`() async throws
    {
        let loop = try EventLoop.started("shard-test")
        let ended = Mutex<[UInt64]>([])
        let mailbox = Mailbox<ShardMessage>(loop: loop, capacity: 4) { messages in
            for case .disconnect(let connection, .overloaded) in messages { ended.withLock { $0.append(connection) } }
        }
        let lines = LogLines()
        let outlets = ShardOutlets([mailbox], log: lines.logger())
        for round in 1...2 {
            let gate = Self.hold(loop)
            for _ in 0..<1000 {
                for connection: UInt64 in [7, 8] {
                    outlets.deliver([.send(connection, .event(seq: 1, .draining(deadline: .zero)))], to: 0)
                }
            }
            gate.signal()
            await loop.run {}
            #expect(ended.withLock { $0.sorted() } == [7, 8].flatMap { [UInt64](repeating: $0, count: round) })
            // There is space again.
            outlets.deliver([], to: 0)
        }
        await loop.stopAndWait()
        outlets.deliver([.disconnect(9, .normal)], to: 0)
        #expect(lines.take().count == 4)
    }
}
