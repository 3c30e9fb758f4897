import Synchronization

/// Messages for one loop, from any thread, in order, with a bound. The only way data crosses threads.
///
/// The receiver is woken once however many messages are posted before it runs, and is given them all at once.
///
/// What messages pass through is inlinable, so that it is compiled for the type of the message where that is known.
public final class Mailbox<Message: Sendable>: Sendable {
    @usableFromInline struct State {
        @usableFromInline var messages: [Message] = []
        @usableFromInline var isWoken = false
        @usableFromInline var isPaused = false
        /// Its loop has stopped: nothing is taken any more.
        @usableFromInline var isClosed = false
        @usableFromInline var refused: UInt64 = 0

        init() {}
    }

    public let loop: EventLoop
    /// How many messages it holds at most.
    public let capacity: Int
    @usableFromInline let state = Mutex(State())
    @usableFromInline let receiver: LoopBound<(inout [Message]) -> Void>
    /// The memory of the batch before, for the messages to come.
    // Proof: touched in `drain` only, on the loop's thread.
    @usableFromInline nonisolated(unsafe) var spare: [Message] = []
    /// More memory than for so many messages is not kept.
    @usableFromInline static var mostKept: Int { 1024 }

    /// - Parameter receive: called on the loop's thread with what has come since; what it leaves in the array is
    ///   dropped.
    ///   It must be created on the loop's thread or touch only what is confined to that loop.
    public init(loop: EventLoop, capacity: Int, receive: @escaping (inout [Message]) -> Void) {
        self.loop = loop
        self.capacity = capacity
        receiver = LoopBound(receive, on: loop)
    }

    /// - Returns: false when the mailbox is full or its loop has stopped: nothing was taken.
    @inlinable public func post(_ message: Message) -> Bool {
        post(contentsOf: CollectionOfOne(message))
    }

    /// Takes the message even when the mailbox is full: for facts that must not be lost and whose number is bounded by
    /// something else, as the end of a connection is by the number of connections.
    /// - Returns: false when the loop has stopped.
    @discardableResult
    @inlinable
    public func postAlways(_ message: Message) -> Bool {
        take(CollectionOfOne(message), limit: .max)
    }

    /// Takes all of `messages` or none of them.
    @inlinable public func post(contentsOf messages: some Collection<Message>) -> Bool {
        take(messages, limit: capacity)
    }

    /// Takes as many of `messages` as fit, from the first on, out of the array; those that stay in it are refused, which
    /// are all when the loop has stopped.
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
        // The loop has stopped meanwhile, and will never take them.
        // It was empty but for what other threads posted behind them: the first wakes the loop.
        messages.insert(contentsOf: close().prefix(taken), at: 0)
    }

    @inlinable func take(_ messages: some Collection<Message>, limit: Int) -> Bool {
        // nil: refused; true: the first since the loop last drained, which has to wake it.
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

    /// - Returns: false when the loop has stopped; what is there is dropped then.
    @discardableResult
    @inlinable func wake() -> Bool {
        if loop.execute({ self.drain() }) { return true }
        _ = close()
        return false
    }

    /// - Returns: what will never be taken.
    @inlinable func close() -> [Message] {
        state.withLock { state in
            state.isClosed = true
            defer { state.messages = [] }
            return state.messages
        }
    }

    /// From now on messages only gather, up to the capacity. On the loop's thread.
    public func pause() {
        loop.assertIsCurrent()
        state.withLock { $0.isPaused = true }
    }

    /// Ends a ``pause()``; what has gathered is given to the receiver once this call's own work is over. On the loop's thread.
    public func resume() {
        loop.assertIsCurrent()
        let mustWake = state.withLock { state in
            state.isPaused = false
            return state.isWoken
        }
        if mustWake { loop.execute { self.drain() } }
    }

    /// How many messages wait now. For metrics.
    public var count: Int { state.withLock { $0.messages.count } }
    /// How many were refused because the mailbox was full, since the start.
    public var refused: UInt64 { state.withLock { $0.refused } }

    @inlinable func drain() {
        var batch: [Message] = []
        swap(&batch, &spare)
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
