import EventLoop
import Foundation
import Synchronization
import TestCleanup
import Testing

@testable import CallServer

/// A datagram socket in place of the service manager's.
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

@Suite("Notifications to the service manager", .cleanup, .timeLimit(.minutes(5)))
struct ServiceManagerTests {
    @Test("nothing is sent without a service manager, and another process's watchdog is ignored")
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

    @Test("the watchdog is notified while the server works, and not while a commit hangs")
    func watchdog() async throws {
        let socket = NotifySocket()
        let manager = try #require(ServiceManager(environment: ["NOTIFY_SOCKET": socket.path]))
        manager.notify("READY=1")
        #expect(socket.read() == ["READY=1"])
        let loop = try EventLoop.started("watched")
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
    }
}
