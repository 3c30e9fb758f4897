import CallVocabulary
import EventLoop
import Foundation

/// Notifies the service manager that started the process, by sd_notify(3) and sd_watchdog_enabled(3).
struct ServiceManager: Sendable {
    private let address: String
    /// The watchdog timeout, after which a silent process is killed; nil without a watchdog.
    let watchdog: Duration?

    /// - Returns: nil when no service manager asks for notifications.
    init?(environment: [String: String] = ProcessInfo.processInfo.environment, process: Int32 = getpid()) {
        guard let address = environment["NOTIFY_SOCKET"], let first = address.first, first == "/" || first == "@" else {
            return nil
        }
        self.address = address
        let isMeant = environment["WATCHDOG_PID"].map { Int32(digits: $0, in: 0...Int32.max) == process } ?? true
        let microseconds = environment["WATCHDOG_USEC"].flatMap { Int64(digits: $0, in: 0...Int64.max) } ?? 0
        watchdog = isMeant && microseconds > 0 ? .microseconds(microseconds) : nil
    }

    /// Sends a state such as `READY=1`. A failed send is not repeated: the watchdog sends again. `WATCHDOG=1` is dropped
    /// when the service manager reads nothing, which must not stop the caller's thread.
    func notify(_ state: String) {
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        var target = sockaddr_un()
        target.sun_family = sa_family_t(AF_UNIX)
        // A name in the abstract namespace begins with a zero byte (unix(7)), written as @.
        var path = Array(address.utf8)
        if path.first == UInt8(ascii: "@") { path[0] = 0 }
        guard path.count < MemoryLayout.size(ofValue: target.sun_path) else { return }
        withUnsafeMutableBytes(of: &target.sun_path) { $0.copyBytes(from: path) }
        let length = MemoryLayout<sa_family_t>.size + path.count
        let bytes = Array(state.utf8)
        let flags = Int32(MSG_NOSIGNAL) | (state == "WATCHDOG=1" ? Int32(MSG_DONTWAIT) : 0)
        _ = withUnsafePointer(to: &target) { target in
            target.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(descriptor, bytes, bytes.count, flags, $0, socklen_t(length))
            }
        }
    }
}

/// Notifies the service manager's watchdog while the core's loop runs and no commit hangs.
///
/// Failing commits, as on a full disk, do not stop the notifications: a server that reports the failure is more useful
/// than one that is restarted.
final class Watchdog {
    private let manager: ServiceManager
    private let interval: Duration
    private let isHung: () -> Bool
    private var timer: LoopTimer?

    /// Create and release it on the loop's thread.
    /// - Parameter isHung: whether a commit has waited too long without failing.
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
