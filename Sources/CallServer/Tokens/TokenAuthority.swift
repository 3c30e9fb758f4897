import CallCore
import CallVocabulary
import Foundation
import JWTKit

/// Mints and checks the two kinds of token that open a session: a user's, and a push's wake token.
///
/// They are signed with different keys, so that whoever may mint the one cannot mint the other. Any thread.
public struct TokenAuthority: Redacted, Sendable {
    private let clientKeys = JWTKeyCollection()
    /// None where only users' tokens are minted.
    private let wakeTokens: WakeTokens?

    /// How long a wake token outlives the call's ring deadline.
    static let wakeGrace = Duration.seconds(60)

    /// Uses the secrets of the data folder, making them on first use.
    public init(folder: DataFolder) async throws {
        let clientSecret = try folder.secret("client-token.key")
        wakeTokens = WakeTokens(secret: try folder.secret("wake-token.key"))
        await clientKeys.add(hmac: HMACKey(from: clientSecret), digestAlgorithm: .sha256)
    }

    /// For minting users' tokens from the server's secret alone; it checks no wake tokens and mints none.
    /// - Parameter clientSecretFile: `client-token.key` in the server's data folder, or a copy of it.
    public init(clientSecretFile path: String) async throws {
        wakeTokens = nil
        await clientKeys.add(hmac: HMACKey(from: try DataFolder.secret(file: path)), digestAlgorithm: .sha256)
    }

    /// A token as it was checked.
    public struct Verified: Sendable {
        public let grant: SessionGrant
        /// The only device it is good for, if it names one.
        public let device: DeviceID?
        let expiresAt: Instant

        func unexpired(at now: Date) -> Result<Verified, Refusal> {
            Double(expiresAt.milliseconds) > now.timeIntervalSince1970 * 1000 ? .success(self) : .failure(.expired)
        }
    }

    /// Why a token is refused, in words for whoever sent it.
    public struct Refusal: Error, Sendable {
        public let message: String

        static let expired = Refusal(message: "The token has expired. Get a new one from your backend and open again.")
        static let unsigned = Refusal(
            message: "The token is not one that this server's keys have signed. Get a new one and open again.")
    }

    /// - Throws: ``Refusal``.
    public func verify(_ token: String) async throws(Refusal) -> Verified {
        if let result = verifyWakeToken(token) { return try result.get() }
        do {
            return try await clientKeys.verify(token, as: Claims.self).verified()
        } catch let refusal as Refusal {
            throw refusal
        } catch let error as JWTError where error.errorType == .claimVerificationFailure {
            throw .expired
        } catch {
            throw .unsigned
        }
    }

    /// What ``verify(_:)`` comes to, at once; nil for a token that is no wake token.
    func verifyWakeToken(_ token: String) -> Result<Verified, Refusal>? {
        guard token.hasPrefix(WakeTokens.prefix) else { return nil }
        guard let claims = wakeTokens?.read(token) else { return .failure(.unsigned) }
        let grant = SessionGrant(user: claims.user, scope: .call(claims.call))
        return Verified(grant: grant, device: claims.device, expiresAt: claims.expiresAt).unexpired(at: .now)
    }

    /// A token for a user's session.
    /// - Parameter device: binds the token to one device.
    public func mint(user: Handle, lifetime: Duration, device: DeviceID? = nil, name: String? = nil) async throws
        -> String
    {
        let expires = Date(timeIntervalSinceNow: Double(lifetime.wholeMilliseconds) / 1000)
        return try await clientKeys.sign(
            Claims(
                sub: SubjectClaim(value: user.text), exp: ExpirationClaim(value: expires), name: name,
                device: device?.description))
    }

    /// The token that a push carries: good for its call, on its device, until a minute after the ring deadline.
    public func mintWakeToken(for order: PushOrder) throws -> String {
        guard let wakeTokens else { throw Refusal(message: "There is no key for wake tokens.") }
        return wakeTokens.mint(
            WakeTokens.Claims(
                call: order.call, device: order.device, user: order.user,
                expiresAt: order.expiresAt + Self.wakeGrace))
    }

    private struct Claims: JWTPayload {
        var sub: SubjectClaim
        var exp: ExpirationClaim
        var name: String?
        var device: String?

        enum CodingKeys: String, CodingKey {
            case sub, exp, name
            case device = "device_id"
        }

        func verify(using algorithm: some JWTAlgorithm) throws { try exp.verifyNotExpired() }

        func verified() throws -> Verified {
            guard let user = Handle(sub.value) else {
                throw Refusal(message: "The token's sub is no handle: 1 to 128 bytes without spaces.")
            }
            let bound = device.map { DeviceID($0) }
            if let bound, bound == nil { throw Refusal(message: "The token's device_id is not a UUID.") }
            // Whoever signs may write any number; one is as good as another some thousand years from now.
            let expiresAt = Instant(milliseconds: Int64(min(exp.value.timeIntervalSince1970 * 1000, 1e15)))
            return Verified(
                grant: SessionGrant(user: user, displayName: name), device: bound ?? nil,
                expiresAt: expiresAt)
        }
    }
}
