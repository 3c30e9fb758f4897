import EventLoop
import Foundation
import Synchronization
import Testing

@testable import CallServer

/// A datagram socket in the place of a service manager's.
private final class NotifySocket: Sendable {
    let path = NSTemporaryDirectory() + "notify-\(UUID().uuidString.prefix(8))"
    private let descriptor: Int32

    init() {
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        #expect(result == 0)
    }

    deinit {
        close(descriptor)
        unlink(path)
    }

    /// What has come and was not read yet.
    func read() -> [String] {
        var states: [String] = []
        var bytes = [UInt8](repeating: 0, count: 64)
        while case let count = recv(descriptor, &bytes, bytes.count, 0), count > 0 {
            states.append(String(decoding: bytes[..<count], as: UTF8.self))
        }
        return states
    }
}

/// Confined to a loop.
private final class WatchdogSlot {
    var watchdog: Watchdog?
}

@Suite("What the service manager is told", .timeLimit(.minutes(1)))
struct ServiceManagerTests {
    @Test("nobody is told where no service manager listens, and the watchdog is the process's own")
    func environment() throws {
        #expect(ServiceManager(environment: [:]) == nil)
        #expect(ServiceManager(environment: ["NOTIFY_SOCKET": "relative"]) == nil)
        let plain = try #require(ServiceManager(environment: ["NOTIFY_SOCKET": "/run/notify"]))
        #expect(plain.watchdog == nil)
        for (process, expected) in [("7", Duration.seconds(60)), ("8", nil)] {
            let manager = ServiceManager(
                environment: [
                    "NOTIFY_SOCKET": "@notify", "WATCHDOG_USEC": "60000000", "WATCHDOG_PID": process,
                ], process: 7)
            #expect(manager?.watchdog == expected)
        }
    }

    @Test("the watchdog hears of a server that turns, and nothing while a commit hangs")
    func watchdog() async throws {
        let socket = NotifySocket()
        let manager = try #require(ServiceManager(environment: ["NOTIFY_SOCKET": socket.path]))
        manager.notify("READY=1")
        #expect(socket.read() == ["READY=1"])
        let loop = try EventLoop(name: "watched")
        loop.start()
        let isHung = Atomic<Bool>(false)
        let looks = Atomic<Int>(0)
        let slot = LoopBound(WatchdogSlot(), on: loop)
        _ = await loop.run {
            slot.value.watchdog = Watchdog(manager, every: .milliseconds(1), loop: loop) {
                looks.add(1, ordering: .sequentiallyConsistent)
                return isHung.load(ordering: .sequentiallyConsistent)
            }
        }
        while socket.read().isEmpty { await Task.yield() }
        isHung.store(true, ordering: .sequentiallyConsistent)
        _ = await loop.run {}
        _ = socket.read()
        let seen = looks.load(ordering: .sequentiallyConsistent)
        while looks.load(ordering: .sequentiallyConsistent) < seen + 5 { await Task.yield() }
        #expect(socket.read() == [])
        isHung.store(false, ordering: .sequentiallyConsistent)
        while socket.read().isEmpty { await Task.yield() }
        _ = await loop.run { slot.value.watchdog = nil }
        await loop.stopAndWait()
    }
}
