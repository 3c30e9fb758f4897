/// A value that is not printed: a token, a key. Whoever prints it, or what holds it, gets ``redacted`` in its place, by
/// interpolation, `print`, `dump` and reflection alike.
///
/// As a property wrapper it leaves the property's type as it is, so that code which needs the value has it, and whatever
/// holds it prints without it.
@frozen @propertyWrapper public struct Secret<Value: Hashable & Sendable>: Hashable, Sendable {
    public var wrappedValue: Value

    @inlinable public init(wrappedValue: Value) {
        self.wrappedValue = wrappedValue
    }

    // Inlinable, and so compiled for the value's type: as the compiler makes them they are generic code.

    @inlinable public static func == (a: Self, b: Self) -> Bool { a.wrappedValue == b.wrappedValue }

    @inlinable public func hash(into hasher: inout Hasher) { hasher.combine(wrappedValue) }
}

extension Secret: Redacted {
    public var description: String { redacted }
}

/// What stands where a secret would.
public let redacted = "‹redacted›"

/// A type that prints as its ``description`` says, however it is printed: reflection finds nothing in it.
public protocol Redacted: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension Redacted {
    /// The type's name; one that can say more safely has its own.
    public var description: String { "\(Self.self)(\(redacted))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: [], displayStyle: .struct) }
}
