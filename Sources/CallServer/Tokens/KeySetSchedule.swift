import CallVocabulary

/// When the key set of an identity provider is fetched, and how long its keys count. Pure.
///
/// ```
/// due ──fetch──▶ fetched: due again after max-age, 5 min to 24 h
///   ▲               │ failed: due again after 30 s, then twice as long each time, up to 5 min
///   └── unknown key ┘ keys count until 24 h after they were due
/// ```
package struct KeySetSchedule: Equatable {
    /// A fetch starts at least this long after the one before: a provider gets two requests a minute at most.
    static let spacing = Duration.seconds(30)
    package static let shortestAge = Duration.seconds(5 * 60)
    package static let longestAge = Duration.seconds(24 * 3600)
    /// The age without a `Cache-Control`.
    static let standardAge = Duration.seconds(10 * 60)
    /// How long keys count beyond their age while the provider does not answer.
    package static let grace = Duration.seconds(24 * 3600)

    /// When the next fetch is due: at least ``spacing`` after the last one.
    package private(set) var due: Instant
    /// When the keys stop to count; nil without keys.
    package private(set) var end: Instant?
    private(set) var lastStart: Instant?
    private(set) var failures = 0

    /// - Parameter end: when the keys of the last process stop to count; nil without such keys.
    package init(now: Instant, end: Instant? = nil) {
        due = now
        self.end = end
    }

    mutating func started(at now: Instant) { lastStart = now }

    package mutating func succeeded(at now: Instant, maxAge: Duration?) {
        failures = 0
        due = now + max(Self.shortestAge, min(maxAge ?? Self.standardAge, Self.longestAge))
        end = due + Self.grace
    }

    mutating func failed(at now: Instant) {
        failures += 1
        let delay = Self.spacing * (1 << min(failures - 1, 4))
        due = now + min(delay, Self.shortestAge)
    }

    /// The keys have stopped to count.
    mutating func dropped() { end = nil }

    /// How long the keys are past their age; nil within it, and without keys.
    func overdue(at now: Instant) -> Duration? {
        guard let end, now > end + (.zero - Self.grace) else { return nil }
        return now - (end + (.zero - Self.grace))
    }

    /// How long an unknown key has to wait for a fetch; zero if it is a reason to fetch now.
    func wait(at now: Instant) -> Duration {
        guard let lastStart else { return .zero }
        return max(.zero, lastStart + Self.spacing - now)
    }

    /// The longest time in seconds that others can say (RFC 9111, section 1.2.2).
    private static let mostSeconds = 1 << 31

    /// `max-age` of a `Cache-Control`, less the response's `Age` (RFC 9111, section 4.2); zero where the response may
    /// not be kept, and where `max-age` is not a number; nil where nothing is said.
    package static func maxAge(cacheControl: String?, age: String?) -> Duration? {
        var found: Int?
        for part in (cacheControl ?? "").split(separator: ",") {
            let directive = part.bare.lowercased()
            if directive == "no-store" || directive == "no-cache" || directive.hasPrefix("no-cache=") { return .zero }
            if directive.hasPrefix("max-age=") {
                let digits = directive.dropFirst("max-age=".count).bare
                guard let seconds = Int(digits: digits, in: 0...Int.max) else { return .zero }
                found = min(found ?? mostSeconds, seconds)
            }
        }
        guard let found else { return nil }
        let past = age.flatMap { Int(digits: $0, atMost: mostSeconds) } ?? 0
        return .seconds(max(0, found - past))
    }
}

extension Substring {
    /// The text without the blanks and quotation marks around it.
    fileprivate var bare: Substring {
        let isLeftOut = { (character: Character) in " \t\"".contains(character) }
        var text = drop(while: isLeftOut)
        while let last = text.last, isLeftOut(last) { text.removeLast() }
        return text
    }
}
