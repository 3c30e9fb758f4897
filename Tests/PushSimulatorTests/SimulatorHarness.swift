import CallVocabulary
import ChildProcess
import EventLoop
import Foundation
import HTTP2
import JWTKit
import Logging
import PushSimulator
import TLS
import Testing

/// The simulator of the test under way, which its suite's trait ``SimulatorTrait`` starts.
var harness: SimulatorHarness {
    guard let harness = SimulatorHarness.current else { preconditionFailure("this suite lacks the trait .simulator") }
    return harness
}

/// Gives each test a simulator of its own.
struct SimulatorTrait: SuiteTrait, TestTrait, TestScoping {
    var isRecursive: Bool { true }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        try await SimulatorHarness.with { try await function() }
    }
}

extension Trait where Self == SimulatorTrait {
    static var simulator: Self { Self() }
}

/// A running simulator in a folder of its own, and a loop for those who talk to it.
struct SimulatorHarness: Sendable {
    @TaskLocal fileprivate static var current: SimulatorHarness?

    static let topic = "org.example.app"
    static let voipTopic = topic + ".voip"

    let simulator: PushSimulator
    let manifest: PushSimulatorManifest
    let folder: String
    let loop: EventLoop
    let tls: TLSClientContext

    static func with(
        _ configure: (inout PushSimulatorConfiguration) -> Void = { _ in },
        _ body: () async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/push-sim-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var configuration = PushSimulatorConfiguration(
            folder: folder, productionPort: 0, sandboxPort: 0, topic: topic,
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
        configure(&configuration)
        let simulator = try PushSimulator(configuration: configuration)
        let manifest = try await simulator.start()
        let loop = try EventLoop(name: "test")
        loop.start()
        let tls = try TLSClientContext(trust: .certificateAuthority(file: folder + "/" + manifest.caFile))
        let harness = SimulatorHarness(simulator: simulator, manifest: manifest, folder: folder, loop: loop, tls: tls)
        let result: Result<Void, any Error>
        do {
            try await $current.withValue(harness) { try await body() }
            result = .success(())
        } catch {
            result = .failure(error)
        }
        await loop.stopAndWait()
        await simulator.stop()
        try result.get()
    }

    func address(_ environment: PushEnvironment = .production) throws -> SocketAddress {
        let endpoint = try #require(manifest.endpoint(environment.rawValue))
        return try #require(SocketAddress(host: endpoint.host, port: endpoint.port))
    }

    /// A client whose connection stands and allows one stream.
    func client(_ environment: PushEnvironment = .production) async throws -> TestClient {
        try await client(environment, tls)
    }

    private func client(_ environment: PushEnvironment, _ tls: TLSClientContext) async throws -> TestClient {
        let client = try await TestClient.connect(loop: loop, to: address(environment), tls: tls)
        #expect(try await client.nextLimit() == 1)
        return client
    }

    /// A client that shows a certificate, both in PEM.
    func client(
        certificate: String, key: String, _ environment: PushEnvironment = .production
    ) async throws -> TestClient {
        let identity = TLSIdentity(certificateChainPEM: certificate, privateKeyPEM: key)
        let tls = try TLSClientContext(
            trust: .certificateAuthority(file: folder + "/" + manifest.caFile), identity: identity)
        return try await client(environment, tls)
    }

    func fcmClient() async throws -> TestClient {
        let fcm = try #require(manifest.fcm)
        let address = try #require(SocketAddress(host: fcm.host, port: fcm.port))
        let client = try await TestClient.connect(loop: loop, to: address, tls: tls)
        #expect(try await client.nextLimit() == 100)
        return client
    }

    func webPushClient() async throws -> TestClient {
        let service = try #require(manifest.webpush)
        let address = try #require(SocketAddress(host: service.host, port: service.port))
        let client = try await TestClient.connect(loop: loop, to: address, tls: tls)
        #expect(try await client.nextLimit() == 100)
        return client
    }

    /// A link without phones.
    func link() async throws -> LoopBound<PhoneLink> {
        let address = try address()
        let link = await loop.run { [loop, tls] in
            LoopBound(PhoneLink(loop: loop, to: address, tls: tls) { _ in }, on: loop)
        }
        return try #require(link)
    }

    func text(_ file: String?) throws -> String {
        try String(contentsOfFile: folder + "/" + #require(file), encoding: .utf8)
    }

    /// What a program prints, which Debian has in a package of its name.
    static func run(_ program: String, _ arguments: [String]) async throws -> String {
        let path = try ChildProcess.find(program, package: program)
        return try await ChildProcess.run(path, arguments, areErrorsApart: true).output
    }

    /// Sends a request 16 times at once into a fault that ends the connection. What it disowns was not processed, and
    /// comes to no phone.
    /// - Returns: how many were answered.
    func sendMany(_ request: HTTP2Request, over client: TestClient, into fault: PushFault) async throws -> Int {
        let before = try await snapshot().counts
        await simulator.inject(fault)
        let answers = await client.sendTogether(Array(repeating: request, count: 16))
        #expect(answers.allSatisfy { $0 == 200 })
        await client.end()
        let after = try await snapshot().counts
        #expect(after.accepted - before.accepted == answers.count)
        #expect(after.arrived - before.arrived == answers.count)
        return answers.count
    }

    func snapshot() async throws -> PushSimulatorSnapshot {
        try #require(await simulator.snapshot())
    }

    func phone(_ topic: String = voipTopic, _ environment: PushEnvironment = .production) async throws -> String {
        try #require(await simulator.registerPhone(topic: topic, environment: environment, name: "test"))
    }

    /// A phone's token, a client whose connection allows one stream, and a provider token for it.
    func provider() async throws -> (device: String, client: TestClient, token: String) {
        (try await phone(), try await client(), try await providerToken())
    }

    // MARK: Provider tokens

    struct Claims: JWTPayload {
        var iss: String
        var iat: Int
        func verify(using algorithm: some JWTAlgorithm) {}
    }

    static func sign(
        key: ES256PrivateKey, keyID: String?, teamID: String, age: Duration = .zero
    ) async throws -> String {
        let collection = await JWTKeyCollection().add(ecdsa: key, kid: nil)
        let claims = Claims(iss: teamID, iat: Int(Date().timeIntervalSince1970) - Int(age.components.seconds))
        var header = JWTHeader()
        header.kid = keyID
        return try await collection.sign(claims, header: header)
    }

    func key() throws -> ES256PrivateKey {
        try ES256PrivateKey(pem: String(contentsOfFile: folder + "/" + manifest.keyFile, encoding: .utf8))
    }

    func providerToken(age: Duration = .zero) async throws -> String {
        try await Self.sign(key: key(), keyID: manifest.keyID, teamID: manifest.teamID, age: age)
    }

    static func push(
        to device: String, token: String?, id: String = UUID().uuidString.lowercased(), topic: String = voipTopic,
        type: String = "voip", expiration: String = "0", payload: String = "{\"aps\":{}}"
    ) -> HTTP2Request {
        var fields = [
            HTTPField("apns-id", id), HTTPField("apns-topic", topic), HTTPField("apns-push-type", type),
            HTTPField("apns-priority", type == "background" ? "5" : "10"), HTTPField("apns-expiration", expiration),
        ]
        if let token { fields.append(HTTPField("authorization", "bearer \(token)")) }
        return HTTP2Request(
            method: "POST", authority: "localhost", path: "/3/device/\(device)", fields: fields,
            body: Array(payload.utf8))
    }
}

/// The events of one phone, to be awaited one by one.
final class TestPhone {
    private var events: AsyncStream<PhoneLink.Event>.Iterator
    let link: LoopBound<PhoneLink>
    let token: String

    private init(link: LoopBound<PhoneLink>, token: String, events: AsyncStream<PhoneLink.Event>) {
        self.link = link
        self.token = token
        self.events = events.makeAsyncIterator()
    }

    /// Attaches, and waits until the simulator says so.
    static func attach(_ token: String) async throws -> TestPhone {
        let (events, continuation) = AsyncStream.makeStream(of: PhoneLink.Event.self)
        let link = try await harness.link()
        await link.loop.run { _ = link.value.attach(token) { continuation.yield($0) } }
        let phone = TestPhone(link: link, token: token, events: events)
        guard case .attached = try await phone.next() else { throw Unexpected() }
        return phone
    }

    struct Unexpected: Error {}

    func next() async throws -> PhoneLink.Event {
        var iterator = events
        defer { events = iterator }
        return try #require(await iterator.next())
    }

    func nextPush() async throws -> PhoneLink.Push {
        let event = try await next()
        guard case .push(let push) = event else {
            Issue.record("not a push: \(event)")
            throw Unexpected()
        }
        return push
    }

    func report(_ pushID: String) async throws -> SimulatedIPhone.ReportVerdict {
        try await ask { [token] in $0.report(pushID: pushID, by: token, completion: $1) }
    }

    func move(to state: PhoneLink.PhoneState) async throws {
        try await ask { [token] in $0.move(token, to: state, completion: $1) }
    }

    /// - Parameter question: returns false when the link does not take it.
    private func ask<Value: Sendable>(
        _ question:
            @escaping @Sendable (
                _ link: PhoneLink, _ completion: @escaping (Result<Value, PhoneLink.Failure>) -> Void
            ) -> Bool
    ) async throws -> Value {
        let link = link
        return try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Value, any Error>) in
            link.loop.execute {
                let isAsked = question(link.value) { continuation.resume(with: $0.mapError { $0 }) }
                if !isAsked { continuation.resume(throwing: Unexpected()) }
            }
        }
    }

    func close() async {
        let link = link
        _ = await link.loop.run { link.value.close() }
    }
}
