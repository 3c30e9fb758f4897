import CallVocabulary
import EventLoop
import HTTP2
import TLS

/// Calls a simulator in another process: faults, GOAWAY, state. Any thread but a loop's. Each call opens its own
/// connection.
public struct PushSimulatorAdmin: Sendable {
    /// Why a call failed.
    public enum Failure: Error, CustomStringConvertible, Sendable {
        /// No simulator responds at that address.
        case notRunning(folder: String, text: String)
        case refused(status: Int, text: String)

        public var description: String {
            switch self {
            case .notRunning(let folder, let text):
                "no push simulator runs on \(folder) (\(text)): start reveille push-sim, or name its folder with "
                    + "--push-sim-data"
            case .refused(let status, let text): "the push simulator refused (\(status)): \(text)"
            }
        }
    }

    private static let timeout = Duration.seconds(10)

    private let folder: String
    private let address: SocketAddress
    private let tls: TLSClientContext

    /// - Parameter folder: the simulator's data folder.
    /// - Throws: ``Failure/notRunning(folder:text:)`` when no simulator has run there, ``SimulatorFolderError``,
    ///   `HTTP2Failure` for an unreadable certificate.
    public init(folder: String) throws {
        guard let manifest = try? PushSimulatorManifest.load(folder: folder) else {
            throw Failure.notRunning(folder: folder, text: "no \(PushSimulatorManifest.fileName) there")
        }
        guard let endpoint = manifest.endpoints.first,
            let address = SocketAddress(host: endpoint.host, port: endpoint.port)
        else {
            throw SimulatorFolderError(path: folder, problem: "\(PushSimulatorManifest.fileName) names no address")
        }
        self.folder = folder
        self.address = address
        tls = try TLSClientContext(trust: .certificateAuthority(file: folder + "/" + manifest.caFile))
    }

    public func inject(_ order: PushFaultOrder) async throws {
        _ = try await call("POST", "faults", PhoneLinkMessages.encode(order))
    }

    /// The pending faults, in the order they apply.
    public func waitingFaults() async throws -> [PushFaultOrder] {
        try read(PhoneLinkMessages.Faults.self, try await call("GET", "faults")).faults
    }

    public func clearFaults() async throws {
        _ = try await call("DELETE", "faults")
    }

    /// Sends GOAWAY to the providers of one service.
    public func endProviderConnections(
        provider: PushProvider, environment: PushEnvironment, _ goAway: PushFault.GoAway
    ) async throws {
        let order = PushFaultOrder(PushFault(.retire(goAway)))
        let body = PhoneLinkMessages.GoAway(
            provider: provider.rawValue, environment: environment.rawValue, reason: order.reason, text: order.text,
            doubled: order.doubled, lastStream: order.lastStream)
        _ = try await call("POST", "goaway", PhoneLinkMessages.encode(body))
    }

    public func snapshot() async throws -> PushSimulatorSnapshot {
        try read(PushSimulatorSnapshot.self, try await call("GET", "state"))
    }

    private func read<Value: Decodable>(_: Value.Type, _ body: [UInt8]) throws -> Value {
        guard let value = PhoneLinkMessages.decode(Value.self, from: body) else {
            throw Failure.refused(status: 200, text: "unexpected response; the simulator may have another version")
        }
        return value
    }

    private func call(_ method: String, _ path: String, _ body: [UInt8] = []) async throws -> [UInt8] {
        let loop = try EventLoop(name: "push-sim-admin")
        loop.start()
        let result = await withCheckedContinuation { continuation in
            let isRunning = loop.execute { [self] in
                ask(method, path, body, on: loop) { continuation.resume(returning: $0) }
            }
            if !isRunning { continuation.resume(returning: .failure(notRunning("its loop has stopped"))) }
        }
        await loop.stopAndWait()
        return try result.get()
    }

    private func notRunning(_ text: String) -> Failure { .notRunning(folder: folder, text: text) }

    /// Calls `completion` once: a closed link makes no callbacks.
    private func ask(
        _ method: String, _ path: String, _ body: [UInt8], on loop: EventLoop,
        completion: @escaping (Result<[UInt8], Failure>) -> Void
    ) {
        let link = PhoneLink(loop: loop, to: address, tls: tls) { _ in }
        var timer: LoopTimer?
        func finish(_ result: Result<[UInt8], Failure>) {
            timer = nil
            link.close()
            completion(result)
        }
        timer = LoopTimer(loop: loop) { finish(.failure(notRunning("no response within \(Self.timeout)"))) }
        timer?.start(after: Self.timeout)
        let isAsked = link.ask(method, path, body) { result in
            finish(
                result.mapError { failure in
                    switch failure {
                    case .refused(let status, let text): .refused(status: status, text: text)
                    case .lost(let failure): notRunning(failure?.description ?? "the connection was closed")
                    }
                })
        }
        precondition(isAsked, "a new link accepts a call")
    }
}
