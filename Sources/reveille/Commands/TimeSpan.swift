import ArgumentParser

/// A length of time as people give it: `500ms`, `90s`, `1h30m`, `3d`, `1w`, or seconds.
enum TimeSpan {
    /// The longest first, as those of a sum are given.
    private static let units: [(name: Substring, milliseconds: Int64)] = [
        ("w", 604_800_000), ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1),
    ]
    /// In milliseconds, about 30 years: more is a slip.
    private static let longest: Int64 = 1_000_000_000_000

    /// With a unit, or the sum of several, the longest first and each once; nil for anything else.
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

    /// With a unit, or several, or in seconds.
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
