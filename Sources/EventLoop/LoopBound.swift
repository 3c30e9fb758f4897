/// Carries a value that is not `Sendable` to the one loop it is confined to.
///
/// Proof for `@unchecked`: the value can only be taken out on the loop's thread, which is checked each time.
public struct LoopBound<Value>: @unchecked Sendable {
    public let loop: EventLoop
    @usableFromInline let confined: Value

    /// Transfers ownership of the value from the caller to `loop`.
    @inlinable public init(_ value: Value, on loop: EventLoop) {
        confined = value
        self.loop = loop
    }

    /// The value. Traps off the loop's thread.
    @inlinable public var value: Value {
        loop.assertIsCurrent()
        return confined
    }
}
