import EventLoop
import Foundation

/// The service manager that started the process, told of its state as sd_notify(3) and sd_watchdog_enabled(3) have it.
struct ServiceManager: Sendable {
    private let address: String
    /// How long the process may say nothing before it is ended; nil when nobody waits for its word.
    let watchdog: Duration?

    /// - Returns: nil when no service manager wants to be told.
    init?(environment: [String: String] = ProcessInfo.processInfo.environment, process: Int32 = getpid()) {
        guard let address = environment["NOTIFY_SOCKET"], let first = address.first, first == "/" || first == "@" else {
            return nil
        }
        self.address = address
        let isMeant = environment["WATCHDOG_PID"].map { Int32($0) == process } ?? true
        let microseconds = environment["WATCHDOG_USEC"].flatMap { Int64($0) } ?? 0
        watchdog = isMeant && microseconds > 0 ? .microseconds(microseconds) : nil
    }

    /// Sends a state such as `READY=1`. What cannot be sent is not sent again: a watchdog has the next word.
    func notify(_ state: String) {
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        var target = sockaddr_un()
        target.sun_family = sa_family_t(AF_UNIX)
        // One in the abstract name space begins with a zero byte (unix(7)), written as @.
        var path = Array(address.utf8)
        if path.first == UInt8(ascii: "@") { path[0] = 0 }
        guard path.count < MemoryLayout.size(ofValue: target.sun_path) else { return }
        withUnsafeMutableBytes(of: &target.sun_path) { $0.copyBytes(from: path) }
        let length = MemoryLayout<sa_family_t>.size + path.count
        let bytes = Array(state.utf8)
        _ = withUnsafePointer(to: &target) { target in
            target.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL), $0, socklen_t(length))
            }
        }
    }
}

/// Tells the service manager that the server lives, for as long as the core's loop turns and no commit hangs.
///
/// Not while commits fail, as on a disk that is full: a server that says so is more use than one that is started anew.
final class Watchdog {
    private let manager: ServiceManager
    private let interval: Duration
    private let isHung: () -> Bool
    private var timer: LoopTimer?

    /// To be made and released on the loop's thread.
    /// - Parameter isHung: whether a commit has been waiting for too long, without having failed.
    init(_ manager: ServiceManager, every interval: Duration, loop: EventLoop, isHung: @escaping () -> Bool) {
        self.manager = manager
        self.interval = interval
        self.isHung = isHung
        timer = LoopTimer(loop: loop) { [weak self] in self?.fire() }
        fire()
    }

    private func fire() {
        if !isHung() { manager.notify("WATCHDOG=1") }
        timer?.start(after: interval)
    }
}

@available(*, unavailable)
extension Watchdog: Sendable {}
