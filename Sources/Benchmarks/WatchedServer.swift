import CallCore
import CallServer
import CallStore
import CallVocabulary
import EventLoop
import Foundation
import SoftphoneKit
import SoftphoneSession

/// A server with live calls that nothing happens to: they are in the store when it starts.
final class WatchedServer: Sendable {
    private let folder: String
    private let server: CallServer
    let adminSocket: SocketAddress

    private init(folder: String, server: CallServer, adminSocket: SocketAddress) {
        self.folder = folder
        self.server = server
        self.adminSocket = adminSocket
    }

    static func start(liveCalls: Int) async throws -> WatchedServer {
        let folder = NSTemporaryDirectory() + "watch-\(UUID().uuidString.prefix(8))"
        let data = DataFolder(path: folder)
        do {
            try data.prepare()
            let store = try CallStore.open(folder: folder)
            let now = Instant(milliseconds: Int64(Date().timeIntervalSince1970 * 1000))
            try store.commit((0..<liveCalls).flatMap { connectedCall($0, now) })
            store.close()
            // A numeric address.
            var configuration = ServerConfiguration(
                address: SocketAddress(host: "127.0.0.1", port: 0)!, data: data,
                // So that the core has a thread to itself.
                shards: 2)
            // Nobody comes back to those calls.
            configuration.timers.resume = .seconds(24 * 3600)
            let server = try await CallServer.start(configuration, log: .silent)
            return WatchedServer(folder: folder, server: server, adminSocket: try data.adminSocket())
        } catch {
            try? FileManager.default.removeItem(atPath: folder)
            throw error
        }
    }

    func stop() async {
        await server.stop()
        try? FileManager.default.removeItem(atPath: folder)
    }

    private static func connectedCall(_ number: Int, _ now: Instant) -> [StoreRecord] {
        // Both are handles.
        let (caller, callee) = (Handle("caller\(number)")!, Handle("callee\(number)")!)
        let devices = (DeviceID(high: 1, low: UInt64(number)), DeviceID(high: 2, low: UInt64(number)))
        var call = CallRecord(
            id: CallID(high: 3, low: UInt64(number)), caller: Party(user: caller, device: devices.0),
            callerName: "Caller \(number)", to: .user(callee), video: false, inviteDigest: 0, state: .connected,
            createdAt: now, ringsUntil: now + .seconds(45))
        call.ringingAt = now
        call.answeredAt = now
        call.answeredBy = Party(user: callee, device: devices.1)
        call.connectsUntil = now
        call.callerConnectedAt = now
        call.calleeConnectedAt = now
        call.connectedAt = now
        var leg = LegRecord(
            call: call.id, device: DeviceKey(user: callee, device: devices.1),
            push: PushID(high: 4, low: UInt64(number)),
            state: .answered, createdAt: now)
        leg.offeredAt = now
        leg.ringingAt = now
        leg.answeredAt = now
        return [.call(call), .leg(leg)]
    }

    /// Has pairs of phones call each other, over and over.
    func startCalls(pairs: Int, pace: Duration) async throws -> CallChurn {
        let runtime = try SoftphoneRuntime()
        func phone(_ user: String, _ number: Int) async throws -> Softphone {
            let handle = Handle("\(user)-\(number)")!  // A handle.
            let token = try await server.mintToken(user: handle, lifetime: .seconds(24 * 3600))
            let configuration = Softphone.Configuration(
                url: "ws://\(server.address)", token: token,
                device: DeviceDescription(id: .random(), platform: .desktop, app: "bench", name: nil))
            let phone = try Softphone(configuration: configuration, runtime: runtime) { _, _ in }
            _ = try await phone.connect()
            return phone
        }
        var phones: [(Softphone, Softphone)] = []
        for number in 0..<pairs { phones.append((try await phone("left", number), try await phone("right", number))) }
        return CallChurn(phones, pace: pace)
    }
}
