/// A value that is never printed, such as a token or key. Interpolation, `print`, `dump` and reflection show
/// ``redacted``, also for a value that contains it.
///
/// As a property wrapper it keeps the property's type, so that code can use the value, and the containing value prints
/// without it.
/// holds it prints without it.
@frozen @propertyWrapper public struct Secret<Value: Hashable & Sendable>: Hashable, Sendable {
    public var wrappedValue: Value

    @inlinable public init(wrappedValue: Value) {
        self.wrappedValue = wrappedValue
    }

    // Inlinable, and so specialized for `Value`: synthesized conformances are generic code.

    @inlinable public static func == (a: Self, b: Self) -> Bool { a.wrappedValue == b.wrappedValue }

    @inlinable public func hash(into hasher: inout Hasher) { hasher.combine(wrappedValue) }
}

extension Secret: Redacted {
    public var description: String { redacted }
}

/// The text printed in place of a secret.
public let redacted = "‹redacted›"

/// A type that prints only its ``description``: reflection finds no children.
public protocol Redacted: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension Redacted {
    /// The type's name; types with more to show safely override it.
    public var description: String { "\(Self.self)(\(redacted))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: [], displayStyle: .struct) }
}
