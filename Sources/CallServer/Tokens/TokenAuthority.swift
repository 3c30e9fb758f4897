import CallCore
import CallMonitor
import CallVocabulary
import ClientTokens
import EventLoop
import Foundation
import Logging
import OutgoingHTTP
import PostgresStore
import PushVocabulary
import StoreInterface
import Synchronization

/// Mints and checks the two kinds of token that open a session: user tokens, and the wake tokens of pushes.
///
/// They are signed with different keys, so that a backend that mints the one cannot mint the other. May be used from
/// any thread.
public struct TokenAuthority: Redacted, Sendable {
    public typealias Refusal = TokenRefusal

    private let folder: DataFolder?
    private let users: Users
    /// nil when only user tokens are minted.
    private let wakeTokens: WakeTokens?
    private let clock: ServerClock

    /// How long a wake token outlives the call's ring deadline.
    static let wakeGrace = Duration.seconds(60)
    static let wakeSecretFile = "wake-token.key"

    /// The present keys of user tokens.
    private final class Users: Sendable {
        private struct State {
            /// With the keys of files.
            var configured: TokenVerifier
            /// The keys that the provider serves.
            var served: [TokenKey] = []
            /// Those that no longer count, because the provider has not answered for long. It has withdrawn none of
            /// them, so that their sessions stay.
            var outdated: Set<KeyFingerprint> = []
            /// The ids of those that the provider has withdrawn.
            var withdrawn: Set<String> = []
            /// Both.
            var verifier: TokenVerifier
            var source: KeySource?
        }

        private let state: Mutex<State>
        let generation = Atomic<UInt64>(0)
        /// Where the secrets are; nil if that is nobody's concern.
        let secretPath = Mutex<String?>(nil)
        let counters = TokenCounters()

        init(_ verifier: TokenVerifier) { state = Mutex(State(configured: verifier, verifier: verifier)) }

        var current: TokenVerifier { state.withLock { $0.verifier } }

        var source: KeySource? { state.withLock { $0.source } }

        /// - Returns: the former source, to be stopped.
        func setSource(_ source: KeySource?) -> KeySource? {
            state.withLock { state in
                defer { state.source = source }
                return state.source
            }
        }

        /// - Parameter keys: empty if they no longer count.
        func setServed(_ keys: [TokenKey], withdrawn: Set<String>) {
            change { state in
                state.outdated = keys.isEmpty ? state.outdated.union(state.served.map(\.fingerprint)) : []
                (state.served, state.withdrawn) = (keys, withdrawn)
            }
        }

        func forgetServed() { change { ($0.served, $0.outdated, $0.withdrawn) = ([], [], []) } }

        var fingerprints: Set<KeyFingerprint> { state.withLock { $0.verifier.fingerprints.union($0.outdated) } }

        /// - Returns: whether the keys differ.
        func setConfigured(_ verifier: TokenVerifier) -> Bool { change { $0.configured = verifier } }

        @discardableResult
        private func change(_ body: (inout State) -> Void) -> Bool {
            state.withLock { state in
                body(&state)
                var verifier = state.configured
                verifier.provider?.keys += state.served
                verifier.provider?.withdrawn = state.withdrawn
                guard verifier != state.verifier else { return false }
                state.verifier = verifier
                generation.add(1, ordering: .sequentiallyConsistent)
                return true
            }
        }
    }

    /// Uses the secrets of the data folder, making them on first use.
    /// - Parameter clock: the clock of the server that owns the tokens. User tokens use its wall time, because backends
    ///   mint them; wake tokens use its timeline.
    public init(
        folder: DataFolder, clock: ServerClock = ServerClock(), tokens: TokenConfiguration = TokenConfiguration()
    ) async throws {
        self.clock = clock
        self.folder = folder
        users = Users(try Self.verifier(tokens, folder))
        wakeTokens = WakeTokens(secret: try folder.secret(Self.wakeSecretFile))
        users.secretPath.withLock { $0 = Self.secretPath(tokens, folder) }
    }

    /// Mints user tokens from the client secret alone; it neither checks nor mints wake tokens.
    /// - Parameter clientSecretFile: `client-token.key` in the server's data folder, or a copy of it.
    public init(clientSecretFile path: String) async throws {
        self.init(secrets: try DataFolder.secrets(file: path).map { TokenSecret($0) })
    }

    /// Mints user tokens alone.
    init(secrets: [TokenSecret]) {
        wakeTokens = nil
        folder = nil
        clock = ServerClock()
        users = Users(TokenVerifier(secrets: secrets))
    }

    // MARK: Secrets

    /// A secret that the folder lacks, so that another one is made.
    struct MissingSecret: Sendable {
        let path: String
        /// What the other one means for users of before.
        let effect: String

        func tell(_ log: Logger) {
            log.error(
                "a secret was missing, and another one was made: \(effect); put it back from a backup, and restart",
                metadata: ["file": .string(path)])
        }
    }

    static func missingSecrets(of folder: DataFolder, _ tokens: TokenConfiguration) -> [MissingSecret] {
        let ofUsers = MissingSecret(
            path: secretPath(tokens, folder),
            effect: "user tokens of the earlier one are refused")
        let ofPushes = MissingSecret(
            path: folder.path + "/" + wakeSecretFile,
            effect: "phones that were just woken are refused, and a repeated Idempotency-Key starts another call")
        let secrets = tokens.secretFile == nil ? [ofUsers, ofPushes] : [ofPushes]
        return secrets.filter { !PrivateFile.isThere($0.path) }
    }

    private static func secretPath(_ tokens: TokenConfiguration, _ folder: DataFolder) -> String {
        tokens.secretFile ?? folder.path + "/" + TokenConfiguration.standardSecretFile
    }

    /// The secrets that the next start would not find. Blocks on the disk.
    var missingSecrets: [(setting: String, path: String)] {
        let ofPushes = folder.map { $0.path + "/" + Self.wakeSecretFile }
        let secrets = [("tokens.secret_file", users.secretPath.withLock { $0 }), (Self.wakeSecretFile, ofPushes)]
        return secrets.compactMap { setting, path in
            path.flatMap { PrivateFile.isThere($0) ? nil : (setting: setting, path: $0) }
        }
    }

    // MARK: Keys

    /// Changes whenever the keys of user tokens change: a token that was good may be good no more.
    var generation: UInt64 { users.generation.load(ordering: .sequentiallyConsistent) }

    /// The present keys, and what user tokens must say.
    var verifier: TokenVerifier { users.current }

    /// Those of the keys whose tokens may have open sessions.
    var fingerprints: Set<KeyFingerprint> { users.fingerprints }

    /// Takes over the keys that the provider serves.
    /// - Parameter keys: empty if they no longer count, because it has not answered for long.
    func takeServed(_ keys: [TokenKey], withdrawn: Set<String>) { users.setServed(keys, withdrawn: withdrawn) }

    /// Reads the secrets for new settings. Blocks on the disk.
    func verifier(for configuration: TokenConfiguration) throws -> TokenVerifier {
        guard let folder else { preconditionFailure("only a server's authority has settings") }
        users.secretPath.withLock { $0 = Self.secretPath(configuration, folder) }
        return try Self.verifier(configuration, folder)
    }

    private static func verifier(_ configuration: TokenConfiguration, _ folder: DataFolder) throws -> TokenVerifier {
        let secrets =
            try configuration.secretFile.map { try DataFolder.secrets(file: $0) }
            ?? folder.secrets(TokenConfiguration.standardSecretFile)
        return TokenVerifier(
            secrets: secrets.map { TokenSecret($0) }, provider: configuration.provider, leeway: configuration.leeway)
    }

    /// Takes over new keys for all further tokens.
    /// - Returns: whether they differ from the present ones.
    func replace(with verifier: TokenVerifier) -> Bool { users.setConfigured(verifier) }

    var counters: TokenCounters { users.counters }

    /// Fetches the provider's keys from the address of new settings from now on, and no longer from another one.
    /// - Parameter realm: keeps the keys for the next home; nil for a server without a realm.
    func follow(_ address: WebAddress?, on loop: EventLoop, sharedBy realm: KeptState?, log: Logger) async throws {
        guard let folder, users.source?.address != address else { return }
        if let former = users.setSource(nil) {
            await former.stop()
            users.forgetServed()
        }
        guard let address else { return }
        var environment = RemoteKeySet.Environment(
            address: address, folder: folder, clock: clock, counters: counters, log: log,
            onKeys: { [self] in takeServed($0, withdrawn: $1) })
        if let realm { environment.share = { Self.keep($0, in: realm, log) } }
        let source = try await KeySource.make(environment, on: loop)
        _ = users.setSource(source)
        source?.begin()
    }

    /// Blocks.
    private static func keep(_ keys: [UInt8], in realm: KeptState, _ log: Logger) {
        do throws(StoreFailure) {
            try realm.write(keys)
        } catch {
            log.warning(
                "cannot keep the identity provider's keys for the next home",
                metadata: ["error": .string("\(error)")])
        }
    }

    func stopFollowing() async { if let source = users.setSource(nil) { await source.stop() } }

    /// Fetches the provider's keys for a token that no known key has signed, unless that was done just now.
    /// - Returns: nil without a provider that serves its keys.
    func fetchNewerKeys() async -> KeyFetch? { await users.source?.fetchNewer() }

    /// Fetches the provider's keys at once, because an operator asks, and returns when that has ended.
    func refetchKeys() async { await users.source?.refetch() }

    /// The state of the provider's keys; nil without a provider that serves its keys.
    func identityKeys() async -> ServerFacts.IdentityKeys? { await users.source?.health() }

    // MARK: Tokens

    /// A checked token.
    public struct Verified: Sendable {
        public let grant: SessionGrant
        /// The only device that may use it; nil for any.
        public let device: DeviceID?
        /// Wall time for a user token, timeline for a wake token.
        let expiresAt: Instant
        /// The key that signed it; nil for a wake token, whose key stays while the server runs.
        var key: KeyFingerprint?

        func unexpired(at now: Instant) -> Result<Verified, Refusal> {
            expiresAt > now ? .success(self) : .failure(.expired(expiresAt, now: now))
        }
    }

    public func verify(_ token: String) throws(Refusal) -> Verified {
        if let result = verifyWakeToken(token) { return try result.get() }
        let verifier = users.current
        let claims = try verifier.verify(token, at: clock.wallTime())
        let grant = SessionGrant(
            user: claims.user, displayName: claims.name,
            allowance: CallAllowance(targets: claims.callTargets, callsPerMinute: claims.callsPerMinute),
            issuedAt: claims.issuedAt)
        return Verified(
            grant: grant, device: claims.device, expiresAt: claims.expiresAt,
            key: verifier.fingerprint(of: claims.signer))
    }

    /// Verifies a token in the background, and once more with newer keys if no known key has signed it.
    /// - Parameter completion: told the result and the generation of keys that were there before it, because keys may
    ///   change meanwhile.
    func verifyWithNewerKeys(
        _ token: String, completion: @escaping @Sendable (TokenChecker.Result, UInt64) -> Void
    ) {
        Task {
            let former = generation
            let result = verdict(token)
            guard case .failure(let refusal) = result, refusal.isForNewerKeys, let fetch = await fetchNewerKeys() else {
                return completion(result.mapError { .refused($0) }, former)
            }
            let newer = generation
            let second = fetch.isNewer ? verdict(token) : result
            completion(second.mapError { TokenChecker.Failure($0, after: fetch) }, newer)
        }
    }

    private func verdict(_ token: String) -> Result<Verified, Refusal> {
        do throws(Refusal) {
            return .success(try verify(token))
        } catch {
            return .failure(error)
        }
    }

    /// Checks again whether a verified user token has expired.
    func recheck(_ verified: Verified) -> Result<Verified, Refusal> { verified.unexpired(at: clock.wallTime()) }

    /// Verifies a wake token synchronously, as ``verify(_:)`` does; nil for any other token.
    func verifyWakeToken(_ token: String) -> Result<Verified, Refusal>? {
        guard token.utf8.starts(with: WakeTokens.prefix.utf8) else { return nil }
        guard let claims = wakeTokens?.read(token) else { return .failure(.wakeToken) }
        let now = clock.now()
        guard claims.expiresAt > now else {
            return .failure(.wakeTokenExpired(clock.wall(claims.expiresAt), now: clock.wall(now)))
        }
        let grant = SessionGrant(user: claims.user, scope: .call(claims.call))
        return .success(Verified(grant: grant, device: claims.device, expiresAt: claims.expiresAt))
    }

    /// Mints a user token.
    /// - Parameter device: binds the token to one device.
    public func mint(user: Handle, lifetime: Duration, device: DeviceID? = nil, name: String? = nil) async throws
        -> String
    {
        let now = clock.wallTime()
        return users.current.secrets[0].sign(
            claims: try JSONEncoder().encode(
                Claims(
                    sub: user.text, iat: Double(now.milliseconds) / 1000,
                    exp: Double((now + lifetime).milliseconds) / 1000, name: name, device: device?.description)))
    }

    /// Mints a push's wake token: valid for its call, on its device, until a minute after the ring deadline.
    public func mintWakeToken(for intent: PushIntent) throws -> String {
        guard let wakeTokens else { throw NoWakeKey() }
        return wakeTokens.mint(
            WakeTokens.Claims(
                call: intent.call, device: intent.device, user: intent.user,
                expiresAt: intent.expiresAt + Self.wakeGrace))
    }

    private struct NoWakeKey: Error, CustomStringConvertible {
        let description = "there is no key for wake tokens"
    }

    /// The claims of minted tokens.
    private struct Claims: Encodable {
        var sub: String
        /// Seconds since 1970.
        var iat: Double
        var exp: Double
        var name: String?
        var device: String?

        enum CodingKeys: String, CodingKey {
            case sub, iat, exp, name
            case device = "device_id"
        }
    }
}
