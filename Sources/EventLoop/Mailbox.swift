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
        /// The loop has stopped: the mailbox accepts no messages.
        @usableFromInline var isClosed = false
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
        var taken = 0
        let mustWake = state.withLock { state in
            guard !state.isClosed else { return false }
            taken = min(max(0, capacity - state.messages.count), messages.count)
            state.refused &+= UInt64(messages.count - taken)
            guard taken > 0 else { return false }
            if state.messages.isEmpty, taken == messages.count {
                swap(&state.messages, &messages)
            } else {
                state.messages.append(contentsOf: messages[..<taken])
                messages.removeFirst(taken)
            }
            defer { state.isWoken = true }
            return !state.isWoken && !state.isPaused
        }
        guard mustWake, !loop.execute({ self.drain() }) else { return }
        // The loop has stopped meanwhile and will not drain. The mailbox was empty before, so these messages come
        // first: the first message is the one that wakes the loop.
        messages.insert(contentsOf: close().prefix(taken), at: 0)
    }

    @inlinable func take(_ messages: some Collection<Message>, limit: Int) -> Bool {
        // nil: refused; true: the first message since the last drain, which wakes the loop.
        let mustWake: Bool? = state.withLock { state in
            guard !state.isClosed else { return nil }
            guard state.messages.count + messages.count <= limit else {
                state.refused &+= UInt64(messages.count)
                return nil
            }
            state.messages.append(contentsOf: messages)
            defer { state.isWoken = true }
            return !state.isWoken && !state.isPaused
        }
        guard let mustWake else { return false }
        return !mustWake || wake()
    }

    /// - Returns: false when the loop has stopped; waiting messages are dropped then.
    @discardableResult
    @inlinable func wake() -> Bool {
        if loop.execute({ self.drain() }) { return true }
        _ = close()
        return false
    }

    /// - Returns: the messages that were never delivered.
    @inlinable func close() -> [Message] {
        state.withLock { state in
            state.isClosed = true
            defer { state.messages = [] }
            return state.messages
        }
    }

    /// Suspends delivery; messages queue up to the capacity. On the loop's thread.
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
