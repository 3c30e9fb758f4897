import CallVocabulary
import ClientTokens
import Crypto

/// The wake tokens of pushes. Each opens a session for one call on one device, until it expires.
///
/// Not JWTs: one is minted and checked for each woken phone, and only the server reads it. The content is 16 bytes of
/// the call, 16 of the device, 8 of the expiry in milliseconds on the server's timeline, most significant first, and
/// the user's handle. An HMAC-SHA256 over ``prefix`` and the content follows; all of it is base64url, after ``prefix``.
///
/// May be used from any thread.
struct WakeTokens: Sendable {
    struct Claims: Equatable, Sendable {
        let call: CallID
        let device: DeviceID
        let user: Handle
        let expiresAt: Instant
    }

    /// Distinguishes wake tokens from JWTs.
    static let prefix = "wake1."
    private static let fixedBytes = 16 + 16 + 8
    /// The characters of the longest token.
    static let longest = prefix.utf8.count + ((fixedBytes + Handle.longest + SHA256.byteCount) * 4 + 2) / 3

    private let key: SymmetricKey
    /// An HMAC with the key and no data yet: copying it is cheaper than hashing the key each time.
    private let emptyCode: HMAC<SHA256>

    init(secret: [UInt8]) {
        key = SymmetricKey(data: secret)
        emptyCode = HMAC(key: key)
    }

    func mint(_ claims: Claims) -> String {
        var bytes = Array(Self.prefix.utf8)
        bytes.reserveCapacity(bytes.count + Self.fixedBytes + claims.user.text.utf8.count + SHA256.byteCount)
        let words = (
            claims.call.high.bigEndian, claims.call.low.bigEndian, claims.device.high.bigEndian,
            claims.device.low.bigEndian, claims.expiresAt.milliseconds.bigEndian
        )
        withUnsafeBytes(of: words) { bytes.append(contentsOf: $0) }
        bytes.append(contentsOf: claims.user.text.utf8)
        var code = emptyCode
        code.update(data: bytes)
        code.finalize().withUnsafeBytes { bytes.append(contentsOf: $0) }
        return Self.prefix + Base64URL.encode(bytes.dropFirst(Self.prefix.utf8.count))
    }

    /// - Returns: nil for a token that this key has not signed.
    func read(_ token: String) -> Claims? {
        guard token.utf8.count <= Self.longest, token.hasPrefix(Self.prefix),
            let bytes = Base64URL.decode(token.dropFirst(Self.prefix.count)),
            bytes.count > Self.fixedBytes + SHA256.byteCount
        else { return nil }
        let (claims, code) = (bytes.dropLast(SHA256.byteCount), bytes.suffix(SHA256.byteCount))
        guard HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: Self.prefix.utf8 + claims, using: key)
        else { return nil }
        let words = (0..<5).map { index in
            claims[index * 8..<index * 8 + 8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        }
        let handle = String(decoding: claims.dropFirst(Self.fixedBytes), as: UTF8.self)
        guard let user = Handle(known: handle) else { return nil }
        return Claims(
            call: CallID(high: words[0], low: words[1]), device: DeviceID(high: words[2], low: words[3]), user: user,
            expiresAt: Instant(milliseconds: Int64(bitPattern: words[4])))
    }
}
