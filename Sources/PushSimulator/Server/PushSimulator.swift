import CallVocabulary
import EventLoop
import HTTP2
import PushVocabulary
import Synchronization
import TLS

/// A strict simulator of APNs, FCM, a Web Push service, phones and browsers, for any sender, on its own loop.
///
/// It has a port for each environment of APNs, one for FCM and one for Web Push. Phones and browsers attach through the same ports (``PhoneLink``).
/// All methods may be called from any thread but a loop's.
public final class PushSimulator: Sendable {
    public enum StartError: Error, CustomStringConvertible, Sendable {
        /// ``PushSimulatorConfiguration/host`` is neither a numeric address nor `localhost`.
        case hostNotNumeric(String)
        case startedAlready

        public var description: String {
            switch self {
            case .hostNotNumeric(let host):
                "push simulator: \(host) is neither a numeric address nor localhost; give one such as 127.0.0.1"
            case .startedAlready: "push simulator: a simulator is started once"
            }
        }
    }

    private enum Phase {
        case idle, starting
        case running(LoopBound<SimulatorCore>)
        case stopped
    }

    private let configuration: PushSimulatorConfiguration
    private let loop: EventLoop
    private let phase = Mutex(Phase.idle)

    /// - Throws: `SystemError` when the process has no free descriptor.
    public init(configuration: PushSimulatorConfiguration) throws {
        self.configuration = configuration
        loop = try EventLoop(name: "push-sim")
    }

    deinit {
        if case .running(let core) = end() { core.loop.execute { core.value.shutDown() } }
        loop.stop()
    }

    /// - Returns: the phase until now.
    private func end() -> Phase {
        phase.withLock { phase in
            defer { phase = .stopped }
            return phase
        }
    }

    /// Creates missing files in the data folder, listens, and writes the manifest.
    /// - Returns: the manifest, with the actual ports.
    /// - Throws: ``SimulatorFolderError``, ``StartError``, or `SystemError` when a port is taken. A simulator cannot be
    ///   started twice.
    @discardableResult
    public func start() async throws -> PushSimulatorManifest {
        let isFirst = phase.withLock { phase in
            guard case .idle = phase else { return false }
            phase = .starting
            return true
        }
        guard isFirst else { throw StartError.startedAlready }
        let configuration = configuration
        guard let production = SocketAddress(host: configuration.host, port: configuration.productionPort),
            let sandbox = SocketAddress(host: configuration.host, port: configuration.sandboxPort),
            let fcm = SocketAddress(host: configuration.host, port: configuration.portOfFCM),
            let webPush = SocketAddress(host: configuration.host, port: configuration.portOfWebPush)
        else { throw StartError.hostNotNumeric(configuration.host) }
        let folder = try SimulatorFolder(
            path: configuration.folder, hosts: [configuration.host], project: configuration.project)
        let own = ProviderKey(id: folder.keyID, teamID: folder.teamID, publicKeyPEM: folder.authKeyPublicPEM)
        let keys = [own] + configuration.furtherKeys
        let verifier = try await ProviderTokenVerifier(keys: keys)
        let identity = TLSIdentity(
            certificateChainPEM: folder.server.certificatePEM, privateKeyPEM: folder.server.keyPEM)
        let contexts = SimulatorCore.Contexts(
            apns: try TLSServerContext(identity: identity, clientAuthorityPEM: folder.authority.certificatePEM),
            others: try TLSServerContext(identity: identity))
        let assertions = try await AssertionVerifier(
            privateKeyPEM: folder.serviceAccount.privateKey, keyID: folder.serviceAccount.privateKeyID)
        loop.start()
        let started = await loop.run { [loop] () -> Result<Started, any Error> in
            let core = SimulatorCore(
                loop: loop, configuration: configuration, keys: keys, verifier: verifier, contexts: contexts,
                account: folder.serviceAccount, assertions: assertions)
            core.lock = folder.lock
            do {
                let started = Started(
                    core: LoopBound(core, on: loop),
                    productionPort: try core.listen(.apns(.production), at: production),
                    sandboxPort: try core.listen(.apns(.sandbox), at: sandbox), fcmPort: try core.listen(.fcm, at: fcm),
                    webPushPort: try core.listen(.webpush, at: webPush))
                core.fcm.tokenURI = SimulatorFolder.tokenURI(host: configuration.host, port: started.fcmPort)
                core.webPush.origin = SimulatorFolder.origin(host: configuration.host, port: started.webPushPort)
                return .success(started)
            } catch {
                core.shutDown()
                return .failure(error)
            }
        }
        // The loop was started above, and no other code can stop it before `running`.
        let ready = try started!.get()
        phase.withLock { $0 = .running(ready.core) }
        let endpoints = [(PushEnvironment.production, ready.productionPort), (.sandbox, ready.sandboxPort)].map {
            PushSimulatorManifest.Endpoint(environment: $0.rawValue, host: configuration.host, port: $1)
        }
        return try folder.publish(
            endpoints: endpoints, host: configuration.host, fcmPort: ready.fcmPort, webPushPort: ready.webPushPort,
            topic: configuration.topic)
    }

    private struct Started: Sendable {
        let core: LoopBound<SimulatorCore>
        let productionPort: UInt16
        let sandboxPort: UInt16
        let fcmPort: UInt16
        let webPushPort: UInt16
    }

    /// Closes all connections and stops the loop. Returns when the loop has ended.
    public func stop() async {
        guard case .running(let core) = end() else { return }
        _ = await loop.run { core.value.shutDown() }
        await loop.stopAndWait()
    }

    /// Injects a fault.
    /// - Returns: false when too many faults are pending, or the simulator does not run.
    @discardableResult
    public func inject(_ fault: PushFault) async -> Bool {
        await withCore { $0.inject(fault) } ?? false
    }

    public func clearFaults() async {
        await withCore { $0.clearFaults() }
    }

    /// The pending faults, in the order they apply.
    public func waitingFaults() async -> [PushFault] {
        await withCore { $0.faults.faults } ?? []
    }

    /// Sends GOAWAY to the providers; open streams are answered.
    public func endProviderConnections(_ environment: PushEnvironment, reason: APNSReason? = nil) async {
        await withCore {
            $0.retireProviders(.apns(environment), PushFault.GoAway(text: reason.map { .json($0) } ?? .none))
        }
    }

    public func revokeAccessTokens() async {
        await withCore { $0.fcm.revokeAccessTokens() }
    }

    /// Registers a phone, unreachable until a client attaches with its token.
    /// - Parameter topic: for an Android phone (`provider` is `.fcm`), the Firebase project; for a browser (`.webpush`), the
    ///   `applicationServerKey` in base64url.
    /// - Returns: its device token, or its subscription; nil when there are too many phones, or the simulator does not run.
    public func registerPhone(
        topic: String, environment: PushEnvironment, name: String = "", provider: PushProvider = .apns
    ) async -> String? {
        await withCore {
            $0.register(provider: provider, topic: topic, environment: environment, name: name)?.token
        } ?? nil
    }

    /// Removes the app from a phone, or ends a browser's subscription: its pushes get 410.
    public func removeApp(fromPhone token: String) async {
        await withCore { core in
            if let phone = core.phones[SimulatedPhone.key(of: token)] { core.unregister(phone) }
        }
    }

    /// Counts and state; nil when the simulator does not run.
    public func snapshot() async -> PushSimulatorSnapshot? {
        await withCore { $0.snapshot }
    }

    @discardableResult
    private func withCore<Value: Sendable>(_ body: @escaping @Sendable (SimulatorCore) -> Value) async -> Value? {
        let core = phase.withLock { phase -> LoopBound<SimulatorCore>? in
            if case .running(let core) = phase { core } else { nil }
        }
        guard let core else { return nil }
        return await loop.run { body(core.value) }
    }
}
