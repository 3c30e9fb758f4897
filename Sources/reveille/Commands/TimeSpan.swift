import ArgumentParser

/// A duration on the command line: `500ms`, `90s`, `1h30m`, `3d`, `1w`, or seconds.
enum TimeSpan {
    /// The longest first, the order of units in a sum.
    private static let units: [(name: Substring, milliseconds: Int64)] = [
        ("w", 604_800_000), ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1),
    ]
    /// The maximum, in milliseconds: about 30 years.
    private static let longest: Int64 = 1_000_000_000_000

    /// A number with a unit, or a sum of them, the longest unit first and each once; nil for anything else.
    static func duration(_ text: String) -> Duration? {
        var (rest, sum, units) = (text[...], Int64(0), units[...])
        repeat {
            let digits = rest.prefix { $0.isASCII && $0.isNumber }
            let name = rest.dropFirst(digits.count).prefix { $0.isASCII && $0.isLetter }
            guard let count = Int64(digits), let place = units.firstIndex(where: { $0.name == name }),
                count <= (longest - sum) / units[place].milliseconds
            else { return nil }
            sum += count * units[place].milliseconds
            units = units[(place + 1)...]
            rest = rest.dropFirst(digits.count + name.count)
        } while !rest.isEmpty
        return .milliseconds(sum)
    }

    /// A number with a unit, a sum of them, or seconds.
    static func parse(_ text: String) throws -> Duration {
        let isCount = text.allSatisfy { $0.isASCII && $0.isNumber }
        guard let duration = duration(isCount ? text + "s" : text) else {
            throw ValidationError(
                text.hasPrefix("-") && !text.hasPrefix("--")
                    ? "'\(text)' is no length of time: give one of no less than 0, as 90s."
                    : "'\(text)' is no length of time: give seconds, or one as 500ms, 90s, 15m, 1h30m or 3d.")
        }
        return duration
    }
}
