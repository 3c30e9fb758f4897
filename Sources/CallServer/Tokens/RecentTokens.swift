import CallCore
import CallVocabulary
import Crypto
import Foundation

/// A cache of recently verified user tokens: at least `kept` of them or `bytes` of memory, at most twice as many. A token
/// takes some 200 bytes, and more with a long list in `call_to`. The tokens themselves are not in it.
struct RecentTokens: Redacted {
    typealias Verified = TokenAuthority.Verified

    private let kept: Int
    private let bytes: Int

    private var newer: [SHA256Digest: Verified] = [:]
    /// The previous `newer`, when it was full.
    private var older: [SHA256Digest: Verified] = [:]
    /// What `newer` takes.
    private var newerBytes = 0

    init(kept: Int = 16_384, bytes: Int = 8 << 20) { (self.kept, self.bytes) = (kept, bytes) }

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
        if newer.count >= kept || newerBytes >= bytes {
            older = newer
            newer.removeAll(keepingCapacity: true)
            newerBytes = 0
        }
        if newer.updateValue(verified, forKey: token) == nil { newerBytes += Self.bytes(of: verified) }
    }

    /// About how many bytes it takes in memory.
    private static func bytes(of verified: Verified) -> Int {
        let texts = (verified.grant.allowance.targets ?? []) + [verified.grant.displayName ?? ""]
        return texts.reduce(200) { $0 + 80 + $1.utf8.count }
    }
}
