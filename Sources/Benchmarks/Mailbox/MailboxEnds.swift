import EventLoop
import Glibc

/// Two loops on threads of their own, each with a mailbox that the other posts to.
final class MailboxEnds: Sendable {
    struct Run: Sendable {
        /// Of the messages that were sent, in both directions together, with the process's CPU time.
        let sample: Sample
        let received: Int
    }

    private static let capacity = 65_536

    private let near: EventLoop
    private let far: EventLoop
    private let toFar: Mailbox<Int>
    private let sender: LoopBound<Sender>
    private let receiver: LoopBound<Receiver>

    /// - Throws: `SystemError` when the process is out of descriptors.
    init() throws {
        let (near, far) = (try EventLoop(name: "near"), try EventLoop(name: "far"))
        let sender = Sender()
        let toNear = Mailbox<Int>(loop: near, capacity: Self.capacity) { sender.receive($0.count) }
        let receiver = Receiver(back: toNear)
        toFar = Mailbox(loop: far, capacity: Self.capacity) { receiver.receive($0.count) }
        self.near = near
        self.far = far
        self.sender = LoopBound(sender, on: near)
        self.receiver = LoopBound(receiver, on: far)
        near.start()
        far.start()
    }

    /// Ends both threads.
    func stop() async {
        await near.stopAndWait()
        await far.stopAndWait()
    }

    /// So many messages go there, and once all of them have arrived, as many back, before the next go.
    /// - Parameter pings: how often, between two looks at the clock.
    func exchange(_ pings: Int, of size: Int, for seconds: Double) async -> Run {
        await far.run { [receiver] in receiver.value.begin(echo: size) }
        let began = OwnUsage.now()
        let back = await withCheckedContinuation { continuation in
            near.execute { [sender, toFar] in
                sender.value.begin(pings, of: size, for: seconds, to: toFar) { continuation.resume(returning: $0) }
            }
        }
        let end = OwnUsage.now()
        // As many there as back.
        return Run(
            sample: began.sample(until: end, count: 2 * back.sent), received: await receivedFar() + back.received)
    }

    /// Messages go there one after the other, so many in each go, as fast as they are taken.
    /// - Parameter count: messages between two looks at the clock, rounded up to whole batches.
    func flood(_ count: Int, by size: Int, for seconds: Double) async -> Run {
        let batches = (count + size - 1) / size
        var sent = 0
        await far.run { [receiver] in receiver.value.begin(echo: 0) }
        let began = (OwnUsage.now(), ContinuousClock.now)
        repeat {
            await withCheckedContinuation { continuation in
                far.execute { [receiver, near, toFar] in
                    receiver.value.awaitMore(batches * size) { continuation.resume() }
                    near.execute { Self.post(batches, of: size, to: toFar) }
                }
            }
            sent += batches * size
        } while (ContinuousClock.now - began.1) / .seconds(1) < seconds
        let end = OwnUsage.now()
        return Run(sample: began.0.sample(until: end, count: sent), received: await receivedFar())
    }

    private static func post(_ batches: Int, of size: Int, to mailbox: Mailbox<Int>) {
        let batch = Array(0..<size)
        for _ in 0..<batches {
            // The other thread is behind: it is given the processor. It ends when the loop of that thread does.
            while !mailbox.post(contentsOf: batch) { sched_yield() }
        }
    }

    private func receivedFar() async -> Int { await far.run { [receiver] in receiver.value.received } ?? 0 }
}

/// Posts, waits until as much has come back, and posts again. Lives on its loop.
private final class Sender {
    private var due = 0
    private var left = 0
    private var sent = 0
    private var received = 0
    private var step: () -> Void = {}

    /// - Parameter then: told how many messages have gone, and how many have come back.
    func begin(
        _ pings: Int, of size: Int, for seconds: Double, to mailbox: Mailbox<Int>,
        then: @escaping ((sent: Int, received: Int)) -> Void
    ) {
        let batch = Array(0..<size)
        let began = ContinuousClock.now
        (sent, received, left) = (0, 0, pings)
        step = { [unowned self] in
            if left == 0 {
                guard (ContinuousClock.now - began) / .seconds(1) < seconds else { return then((sent, received)) }
                left = pings
            }
            left -= 1
            due = size
            sent += size
            // There is room: all that was posted before has been taken.
            _ = size == 1 ? mailbox.post(0) : mailbox.post(contentsOf: batch)
        }
        step()
    }

    func receive(_ count: Int) {
        received += count
        due -= count
        if due == 0 { step() }
    }
}

@available(*, unavailable)
extension Sender: Sendable {}

/// Counts, and sends as much back where that is wanted. Lives on its loop.
private final class Receiver {
    private let back: Mailbox<Int>
    private(set) var received = 0
    private var batch: [Int] = []
    private var pending = 0
    private var awaited: Int?
    private var onAll: () -> Void = {}

    init(back: Mailbox<Int>) { self.back = back }

    /// - Parameter echo: how many have to come before as many go back; 0 for none.
    func begin(echo: Int) {
        batch = Array(0..<echo)
        (received, pending, awaited) = (0, 0, nil)
    }

    func awaitMore(_ count: Int, then: @escaping () -> Void) {
        awaited = received + count
        onAll = then
    }

    func receive(_ count: Int) {
        received += count
        pending += count
        if !batch.isEmpty, pending == batch.count {
            pending = 0
            _ = batch.count == 1 ? back.post(0) : back.post(contentsOf: batch)
        } else if received == awaited {
            onAll()
        }
    }
}

@available(*, unavailable)
extension Receiver: Sendable {}
