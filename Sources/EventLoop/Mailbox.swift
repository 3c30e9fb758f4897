import Synchronization

/// A bounded, ordered queue of messages from any thread to one loop. The only way data crosses threads.
///
/// The receiver is woken once for all messages posted before it runs, and gets them in one batch.
///
/// The message path is inlinable, so that it is specialized for the message type.
public final class Mailbox<Message: Sendable>: Sendable {
    @usableFromInline struct State {
        @usableFromInline var messages: [Message] = []
        @usableFromInline var isWoken = false
        @usableFromInline var isPaused = false
        @usableFromInline var refused: UInt64 = 0

        init() {}
    }

    public let loop: EventLoop
    /// The most messages it holds.
    public let capacity: Int
    @usableFromInline let state = Mutex(State())
    @usableFromInline let receiver: LoopBound<(inout [Message]) -> Void>
    @usableFromInline let beforeTaking: LoopBound<() -> Void>?
    /// The storage of the previous batch, reused for the next one.
    // Proof: touched in `drain` only, on the loop's thread.
    @usableFromInline nonisolated(unsafe) var spare: [Message] = []
    /// The largest capacity of a batch's storage that is kept for reuse.
    @usableFromInline static var mostKept: Int { 1024 }

    /// - Parameters:
    ///   - beforeTaking: called on the loop's thread when it was woken, before it takes the messages. Those that are
    ///     posted meanwhile come along, and wake nobody.
    ///   - receive: called on the loop's thread with the messages since the last call; messages left in the array are
    ///     dropped. Both must be created on the loop's thread, or use only state confined to that loop.
    public init(
        loop: EventLoop, capacity: Int, beforeTaking: (() -> Void)? = nil, receive: @escaping (inout [Message]) -> Void
    ) {
        self.loop = loop
        self.capacity = capacity
        self.beforeTaking = beforeTaking.map { LoopBound($0, on: loop) }
        receiver = LoopBound(receive, on: loop)
    }

    /// - Returns: false when the mailbox is full or its loop has stopped: the message is not accepted.
    @inlinable public func post(_ message: Message) -> Bool {
        post(contentsOf: CollectionOfOne(message))
    }

    /// Accepts the message even when the mailbox is full: for messages that must not be lost and that another limit
    /// bounds. The ends of connections, for example, are bounded by the number of connections.
    /// - Returns: false when the loop has stopped.
    @discardableResult
    @inlinable
    public func postAlways(_ message: Message) -> Bool {
        take(CollectionOfOne(message), limit: .max)
    }

    /// Accepts all of `messages` or none.
    @inlinable public func post(contentsOf messages: some Collection<Message>) -> Bool {
        take(messages, limit: capacity)
    }

    /// Accepts as many of `messages` as fit, from the first on, and removes these from the array. The rest is refused:
    /// all of them when the loop has stopped.
    @inlinable public func post(_ messages: inout [Message]) {
        let mustWake = state.withLock { state in
            let taken = min(max(0, capacity - state.messages.count), messages.count)
            guard taken > 0 else {
                state.refused &+= UInt64(messages.count)
                return false
            }
            guard let mustWake = willDrain(&state) else { return false }
            state.refused &+= UInt64(messages.count - taken)
            if state.messages.isEmpty, taken == messages.count {
                swap(&state.messages, &messages)
            } else {
                state.messages.append(contentsOf: messages[..<taken])
                messages.removeFirst(taken)
            }
            return mustWake
        }
        if mustWake { loop.wake() }
    }

    @inlinable func take(_ messages: some Collection<Message>, limit: Int) -> Bool {
        // nil: refused.
        let mustWake: Bool? = state.withLock { state in
            guard state.messages.count + messages.count <= limit else {
                state.refused &+= UInt64(messages.count)
                return nil
            }
            guard let mustWake = willDrain(&state) else { return nil }
            state.messages.append(contentsOf: messages)
            return mustWake
        }
        if mustWake == true { loop.wake() }
        return mustWake != nil
    }

    /// Makes sure that a message that is added now is delivered. Under the lock, so that no sender relies on a wake-up
    /// that the loop did not accept.
    /// - Returns: whether the loop must be woken, after the lock; nil when it has stopped.
    @inlinable func willDrain(_ state: inout State) -> Bool? {
        // Woken: `drain` is among the loop's jobs, or runs when the pause ends.
        if state.isWoken || state.isPaused {
            guard !loop.hasStopped else { return nil }
            state.isWoken = true
            return false
        }
        guard let mustWake = loop.executeUnwoken({ self.drain() }) else { return nil }
        state.isWoken = true
        return mustWake
    }

    /// Suspends delivery; messages queue up to the capacity, and are dropped if the loop stops meanwhile. On the loop's
    /// thread.
    public func pause() {
        loop.assertIsCurrent()
        state.withLock { $0.isPaused = true }
    }

    /// Ends a ``pause()``. Queued messages are delivered after this call returns. On the loop's thread.
    public func resume() {
        loop.assertIsCurrent()
        let mustWake = state.withLock { state in
            state.isPaused = false
            return state.isWoken
        }
        if mustWake { loop.execute { self.drain() } }
    }

    /// The number of waiting messages, for metrics.
    public var count: Int { state.withLock { $0.messages.count } }
    /// The number of messages refused since the start because the mailbox was full.
    public var refused: UInt64 { state.withLock { $0.refused } }

    @inlinable func drain() {
        var batch: [Message] = []
        swap(&batch, &spare)
        beforeTaking?.value()
        state.withLock { state in
            guard !state.isPaused else { return }
            state.isWoken = false
            swap(&state.messages, &batch)
        }
        if !batch.isEmpty { receiver.value(&batch) }
        batch.removeAll(keepingCapacity: batch.capacity <= Self.mostKept)
        swap(&batch, &spare)
    }
}
