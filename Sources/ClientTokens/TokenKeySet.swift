/// The keys of one file or URL: a JWK Set or a JWK (RFC 7517), or public keys in PEM.
///
/// Each key is read by itself: an unusable one is left out with a reason, and the others count.
public struct TokenKeySet: Equatable, Sendable {
    /// A key that is not used, and why.
    public struct LeftOut: Equatable, Sendable, CustomStringConvertible {
        /// `key 2`, `key "k1"`.
        public let name: String
        public let reason: String

        public var description: String { "\(name) is left out: \(reason)" }
    }

    /// The text as a whole is no key set.
    public struct Failure: Error, Equatable, Sendable, CustomStringConvertible {
        public let description: String
    }

    /// The most keys of a set. Further ones are not read: each costs a computation on a curve, or a line in the log.
    public static let mostKeys = 64

    public let source: String
    public private(set) var keys: [TokenKey] = []
    public private(set) var leftOut: [LeftOut] = []

    /// - Parameter source: the file or URL, for diagnoses.
    public init(_ text: [UInt8], source: String) throws(Failure) {
        self.source = source
        if text.first(where: { !Self.whiteSpace.contains($0) }) == UInt8(ascii: "{") {
            try readJSON(text)
        } else {
            try readPEM(String(decoding: text, as: UTF8.self))
        }
    }

    private static let whiteSpace = Set(" \t\r\n".utf8)

    /// Takes over one key, or notes why it is left out.
    mutating func add(_ name: String, _ key: Result<TokenKey, LeftOutReason>) {
        switch key {
        case .failure(let reason): leftOut.append(LeftOut(name: name, reason: reason.text))
        case .success(let key):
            if !keys.contains(key) { keys.append(key) }
        }
    }

    /// Notes that the keys beyond ``mostKeys`` are not read.
    mutating func leaveOutOthers() {
        let reason = "the set has more than \(Self.mostKeys) keys"
        leftOut.append(LeftOut(name: "key \(Self.mostKeys + 1) and each one after it", reason: reason))
    }
}

/// Why a key is not used.
struct LeftOutReason: Error {
    let text: String

    init(_ text: String) { self.text = text }
}
