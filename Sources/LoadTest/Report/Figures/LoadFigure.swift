/// All figures that a report can have, with their keys and definitions. The manual and `LoadReports.md` have the same
/// words. Capitals are a placeholder, in the key and in the definition.
public enum LoadFigure {
    /// In the order in which they are explained.
    public static let all: [any LoadFigureKind] =
        Work.allCases as [any LoadFigureKind] + Server.allCases + Generator.allCases + Pushes.allCases

    /// The figure with this key; nil if there is none.
    public static func kind(of key: String) -> (any LoadFigureKind)? {
        // `completed_in_all` before `completed_SCENARIO`.
        all.first { $0.key == key } ?? all.first { $0.name(in: key) != nil }
    }
}

/// A figure, or several that differ by a name.
public protocol LoadFigureKind: RawRepresentable<String>, CaseIterable, Sendable {
    typealias Meaning = (unit: Figure.Unit, definition: String)

    static var group: Figure.Group { get }
    var meaning: Meaning { get }
}

extension LoadFigureKind {
    public var key: String { rawValue }
    public var unit: Figure.Unit { meaning.unit }
    public var definition: String { meaning.definition }

    func figure(_ value: Double) -> Figure { Figure(key, Self.group, value, unit, definition) }
    func figure(_ value: Int) -> Figure { figure(Double(value)) }

    /// Where its value is known.
    func figures(_ value: Double?) -> [Figure] { value.map { [figure($0)] } ?? [] }

    /// With a name in place of the capitals.
    func figure(_ value: Double, of name: String) -> Figure {
        guard let placeholder else { return figure(value) }
        return Figure(
            key.replacing(placeholder, with: name), Self.group, value, unit,
            definition.replacing(placeholder, with: name))
    }

    /// What stands for a name in its key.
    private var placeholder: String? {
        key.split(separator: "_").first { $0.allSatisfy(\.isUppercase) }.map(String.init)
    }

    /// What has taken the place of the capitals in `key`; nil where it is another figure's.
    func name(in key: String) -> String? {
        guard let placeholder, let place = self.key.firstRange(of: placeholder) else { return nil }
        let (head, tail) = (self.key[..<place.lowerBound], self.key[place.upperBound...])
        guard key.count > head.count + tail.count, key.hasPrefix(head), key.hasSuffix(tail) else { return nil }
        return String(key.dropFirst(head.count).dropLast(tail.count))
    }
}
