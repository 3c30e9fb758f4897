import CallCore
import CallVocabulary
import Foundation
import JWTKit

/// Mints and checks the two kinds of token that open a session: a user's, and a push's wake token.
///
/// They are signed with different keys, so that whoever may mint the one cannot mint the other. Any thread.
public struct TokenAuthority: Redacted, Sendable {
    private let clientKeys = JWTKeyCollection()
    private let wakeKeys = JWTKeyCollection()

    /// How long a wake token outlives the call's ring deadline.
    static let wakeGrace = Duration.seconds(60)

    /// Uses the secrets of the data folder, making them on first use.
    public init(folder: DataFolder) async throws {
        let clientSecret = try folder.secret("client-token.key")
        let wakeSecret = try folder.secret("wake-token.key")
        await clientKeys.add(hmac: HMACKey(from: clientSecret), digestAlgorithm: .sha256)
        await wakeKeys.add(hmac: HMACKey(from: wakeSecret), digestAlgorithm: .sha256)
    }

    /// For minting users' tokens from the server's secret alone; it checks no wake tokens and mints none.
    /// - Parameter clientSecretFile: `client-token.key` in the server's data folder, or a copy of it.
    public init(clientSecretFile path: String) async throws {
        await clientKeys.add(hmac: HMACKey(from: try DataFolder.secret(file: path)), digestAlgorithm: .sha256)
    }

    /// A token as it was checked.
    public struct Verified: Sendable {
        public let grant: SessionGrant
        /// The only device it is good for, if it names one.
        public let device: DeviceID?
    }

    /// Why a token is refused, in words for whoever sent it.
    public struct Refusal: Error, Sendable {
        public let message: String
    }

    /// - Throws: ``Refusal``.
    public func verify(_ token: String) async throws(Refusal) -> Verified {
        do {
            let claimed = try await clientKeys.unverified(token, as: Claims.self)
            let claims: Claims
            switch claimed.scope {
            case nil: claims = try await clientKeys.verify(token, as: Claims.self)
            case .wake?: claims = try await wakeKeys.verify(token, as: Claims.self)
            }
            return try claims.verified()
        } catch let refusal as Refusal {
            throw refusal
        } catch let error as JWTError where error.errorType == .claimVerificationFailure {
            throw Refusal(message: "The token has expired. Get a new one from your backend and open again.")
        } catch {
            throw Refusal(
                message: "The token is not one that this server's keys have signed. Get a new one and open again.")
        }
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
    public func mintWakeToken(for order: PushOrder) async throws -> String {
        let until = order.expiresAt + Self.wakeGrace
        let expires = Date(timeIntervalSince1970: Double(until.milliseconds) / 1000)
        return try await wakeKeys.sign(
            Claims(
                sub: SubjectClaim(value: order.user.text), exp: ExpirationClaim(value: expires),
                device: order.device.description, scope: .wake, call: order.call.description))
    }

    private struct Claims: JWTPayload {
        enum Scope: String, Codable { case wake }

        var sub: SubjectClaim
        var exp: ExpirationClaim
        var name: String?
        var device: String?
        var scope: Scope?
        var call: String?

        enum CodingKeys: String, CodingKey {
            case sub, exp, name, scope
            case device = "device_id"
            case call = "call_id"
        }

        func verify(using algorithm: some JWTAlgorithm) throws { try exp.verifyNotExpired() }

        func verified() throws -> Verified {
            guard let user = Handle(sub.value) else {
                throw Refusal(message: "The token's sub is no handle: 1 to 128 bytes without spaces.")
            }
            var grant = SessionGrant(user: user, displayName: name)
            let bound = device.map { DeviceID($0) }
            if let bound, bound == nil { throw Refusal(message: "The token's device_id is not a UUID.") }
            if scope == .wake {
                guard let call = call.flatMap({ CallID($0) }) else {
                    throw Refusal(message: "The wake token names no call.")
                }
                grant.scope = .call(call)
            }
            return Verified(grant: grant, device: bound ?? nil)
        }
    }
}
