import CallVocabulary
import Crypto
import EventLoop
import Foundation
import Synchronization

/// The TURN servers for media, and the secret that the server shares with them.
public struct TurnConfiguration: Equatable, Sendable {
    /// `turn:`, `turns:` and `stun:` addresses (RFC 7065, RFC 7064).
    public var urls: [String]
    /// As in coturn's `static-auth-secret`.
    @Secret public var secret: String
    /// How long a credential is valid.
    public var lifetime: Duration
    /// Where ``secret`` was read; nil for a secret that is in no file.
    public var secretFile: String?

    /// The default of ``lifetime``.
    public static let standardLifetime = Duration.seconds(3600)

    public init(
        urls: [String], secret: String, lifetime: Duration = standardLifetime, secretFile: String? = nil
    ) {
        self.urls = urls
        self.secret = secret
        self.lifetime = lifetime
        self.secretFile = secretFile
    }

    /// The secret in the text of a file, which is the first line that is not empty; nil when that has only blanks, and
    /// without such a line.
    package static func secret(in text: String) -> String? {
        let line = text.split(whereSeparator: \.isNewline).first?.trimmingCharacters(in: .whitespaces)
        return line?.isEmpty == false ? line : nil
    }

    /// The file of the secret, if the next start would not find the secret there. Blocks on the disk.
    var missingSecret: String? {
        guard let secretFile else { return nil }
        guard let content = try? PrivateFile.read(secretFile) else { return secretFile }
        return Self.secret(in: String(decoding: content, as: UTF8.self)) == nil ? secretFile : nil
    }

    /// A ``missingSecret`` with its setting.
    static func missing(_ path: String?) -> [(setting: String, path: String)] {
        path.map { [(setting: "turn.secret_file", path: $0)] } ?? []
    }
}

/// Makes credentials for TURN servers ("A REST API For Access To TURN Services", draft-uberti-behave-turn-rest). May be
/// used from any thread.
final class TurnCredentials: Sendable {
    private let configuration: Mutex<TurnConfiguration?>
    private let clock: ServerClock

    init(_ configuration: TurnConfiguration?, clock: ServerClock) {
        self.configuration = Mutex(configuration)
        self.clock = clock
    }

    /// Applies to all further credentials. Earlier ones count until they expire, if the TURN server still has their secret.
    func replace(with configuration: TurnConfiguration?) { self.configuration.withLock { $0 = configuration } }

    /// See ``TurnConfiguration/missingSecret``: the present one counts on.
    var missingSecret: String? { configuration.withLock { $0 }?.missingSecret }

    /// The servers with a new credential of the user; empty without a configuration.
    func servers(for user: Handle) -> [ICEServer] {
        guard let configuration = configuration.withLock({ $0 }) else { return [] }
        // The TURN server compares with its own wall clock.
        let expiry = (clock.wallTime() + configuration.lifetime).milliseconds / 1000
        let username = "\(expiry):\(Self.name(of: user))"
        let code = HMAC<Insecure.SHA1>.authenticationCode(
            for: Data(username.utf8), using: SymmetricKey(data: Data(configuration.secret.utf8)))
        return [
            ICEServer(
                urls: configuration.urls, username: username, credential: Data(code).base64EncodedString(),
                expiresAt: clock.time() + configuration.lifetime)
        ]
    }

    /// The user's part of a user name: the handle in UTF-8, percent-encoded (RFC 3986) but for ASCII letters, digits and
    /// `-._~@+`.
    ///
    /// coturn 4.6 answers 400 to a name with a quotation mark or a backslash, and to one with both `union` and `select`,
    /// of which all bytes are encoded then. Clients prepare a name beyond ASCII by SASLprep, and the signature is of the
    /// bytes. A name has 384 bytes at most; RFC 5389 allows 512 with the expiry.
    private static func name(of user: Handle) -> String {
        let lowercase = user.text.lowercased()
        let isRefused = lowercase.contains("union") && lowercase.contains("select")
        return user.text.utf8.map { byte in
            if !isRefused, isPlain(byte) { return String(UnicodeScalar(byte)) }
            return "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
        }.joined()
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"), UInt8(ascii: "@"), UInt8(ascii: "+"):
            true
        default: false
        }
    }
}
