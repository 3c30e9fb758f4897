/// All figures that a report can have: the one place that says what each is called and what it counts. The manual and
/// `LoadReports.md` have the same words.
///
/// Capitals stand for a name: in a key for the part of it that differs, in a definition for the same; PIECE for what
/// one piece of work of the scenario is.
public enum LoadFigure {
    /// In the order in which they are explained.
    public static let all: [any LoadFigureKind] =
        Work.allCases as [any LoadFigureKind] + Server.allCases + Generator.allCases + Pushes.allCases

    /// What a piece of work is called where the scenario is not said.
    static let piece = "PIECE"

    /// What a figure with this key counts; nil for no key of a report.
    public static func kind(of key: String) -> (any LoadFigureKind)? {
        // `completed_in_all` before `completed_SCENARIO`.
        all.first { $0.key == key } ?? all.first { $0.name(in: key) != nil }
    }
}

/// What one figure is, or several that differ by a name.
public protocol LoadFigureKind: RawRepresentable<String>, CaseIterable, Sendable {
    static var group: Figure.Group { get }
    var unit: Figure.Unit { get }
    /// What exactly is counted.
    var definition: String { get }
}

extension LoadFigureKind {
    public var key: String { rawValue }

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
