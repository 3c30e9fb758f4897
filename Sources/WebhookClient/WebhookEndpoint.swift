import CallVocabulary
import OutgoingHTTP

/// A receiver of events: its address, its secrets and its filter.
public struct WebhookEndpoint: Equatable, Sendable {
    /// The most endpoints of a server.
    public static let most = 16

    /// Unique among the endpoints. Identifies the endpoint in the state file.
    public var name: String
    public var address: WebAddress
    /// At least one. Each signs every message, so that a receiver can change to a new secret.
    public var secrets: [WebhookSecret]
    /// The events that are sent.
    public var kinds: Set<EventKind>

    public init(
        name: String, address: WebAddress, secrets: [WebhookSecret], kinds: Set<EventKind> = Set(EventKind.allCases)
    ) {
        self.name = name
        self.address = address
        self.secrets = secrets
        self.kinds = kinds
    }

    /// Whether the text may be an endpoint's name: 1 to 64 letters, digits, `-`, `_` and `.`.
    public static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
                    true
                default: false
                }
            }
    }
}

extension EventKind {
    /// The events that a filter names: an event, `call.*`, `push.*`, `device.*` or `*`. nil for any other text.
    public static func matching(_ filter: String) -> Set<EventKind>? {
        if filter == "*" { return Set(allCases) }
        if filter.hasSuffix(".*") {
            let found = allCases.filter { $0.rawValue.hasPrefix(filter.dropLast()) }
            return found.isEmpty ? nil : Set(found)
        }
        return EventKind(rawValue: filter).map { [$0] }
    }
}
