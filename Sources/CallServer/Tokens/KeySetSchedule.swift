import CallVocabulary

/// When the key set of an identity provider is fetched, and how long its keys count. Pure.
///
/// ```
/// due ──fetch──▶ fetched: due again after max-age, 5 min to 24 h
///   ▲               │ failed: due again after 30 s, then twice as long each time, up to 5 min
///   └── unknown kid ┘ keys count until 24 h after they were due
/// ```
struct KeySetSchedule: Equatable {
    /// A fetch starts at least this long after the one before: a provider gets two requests a minute at most.
    static let spacing = Duration.seconds(30)
    static let shortestAge = Duration.seconds(5 * 60)
    static let longestAge = Duration.seconds(24 * 3600)
    /// The age without a `Cache-Control`.
    static let standardAge = Duration.seconds(10 * 60)
    /// How long keys count beyond their age while the provider does not answer.
    static let grace = Duration.seconds(24 * 3600)

    /// When the next fetch is due: at least ``spacing`` after the last one.
    private(set) var due: Instant
    /// When the keys stop to count; nil without keys.
    private(set) var end: Instant?
    private(set) var lastStart: Instant?
    private(set) var failures = 0

    /// - Parameter end: when the keys of the last process stop to count; nil without such keys.
    init(now: Instant, end: Instant? = nil) {
        due = now
        self.end = end
    }

    mutating func started(at now: Instant) { lastStart = now }

    mutating func succeeded(at now: Instant, maxAge: Duration?) {
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

    /// Whether an unknown key is a reason to fetch now.
    func mayFetch(at now: Instant) -> Bool {
        guard let lastStart else { return true }
        return now >= lastStart + Self.spacing
    }

    /// `max-age` of a `Cache-Control`, less the response's `Age` (RFC 9111, section 4.2); zero where the response may
    /// not be kept; nil where nothing is said.
    static func maxAge(cacheControl: String?, age: String?) -> Duration? {
        var found: Int?
        for part in (cacheControl ?? "").split(separator: ",") {
            let directive = part.filter { $0 != " " && $0 != "\t" && $0 != "\"" }.lowercased()
            if directive == "no-store" || directive == "no-cache" || directive.hasPrefix("no-cache=") { return .zero }
            if directive.hasPrefix("max-age=") {
                guard let seconds = Int(directive.dropFirst("max-age=".count)), seconds >= 0 else { return .zero }
                found = min(found ?? .max, seconds)
            }
        }
        guard let found else { return nil }
        return .seconds(max(0, min(found, 1 << 31) - max(0, min(age.flatMap { Int($0) } ?? 0, 1 << 31))))
    }
}
