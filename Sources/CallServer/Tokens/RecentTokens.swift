import CallVocabulary
import Crypto
import Foundation

/// A cache of recently verified user tokens: at least `kept` of them, at most twice as many, some 200 bytes each. It
/// does not contain the tokens themselves.
struct RecentTokens: Redacted {
    typealias Verified = TokenAuthority.Verified

    private let kept: Int

    private var newer: [SHA256Digest: Verified] = [:]
    /// The previous `newer`, when it was full.
    private var older: [SHA256Digest: Verified] = [:]

    init(kept: Int = 16_384) { self.kept = kept }

    /// The grant as it was verified; it may have expired since.
    mutating func find(_ token: String) -> Verified? {
        let digest = Self.digest(token)
        if let verified = newer[digest] { return verified }
        guard let verified = older[digest] else { return nil }
        insert(digest, verified)
        return verified
    }

    mutating func insert(_ token: String, _ verified: Verified) { insert(Self.digest(token), verified) }

    private static func digest(_ token: String) -> SHA256Digest {
        var token = token
        return token.withUTF8 { SHA256.hash(data: UnsafeRawBufferPointer($0)) }
    }

    private mutating func insert(_ token: SHA256Digest, _ verified: Verified) {
        if newer.count >= kept {
            older = newer
            newer.removeAll(keepingCapacity: true)
        }
        newer[token] = verified
    }
}
