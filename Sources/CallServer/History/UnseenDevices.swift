import CallCore
import CallVocabulary
import EventLoop
import Logging
import Synchronization

/// Tells the core of users with a device that was not seen for ``CallTimers/deviceAge``: the core has a deadline for
/// the devices in its memory only. Reads all devices of the store every few minutes, a slice at a time.
final class UnseenDevices: Sendable {
    /// Reads the next devices, as `StoreQueries.unseenUsers(since:after:limit:)`.
    typealias Slice = @Sendable (Instant, DeviceKey?, Int) async throws -> (users: [Handle], end: DeviceKey?)

    /// Devices in one slice: a few milliseconds.
    private static let slice = 4096
    /// Users told at once: the core looks each of them up.
    private static let usersAtOnce = 50
    private static let pause = Duration.milliseconds(50)
    static let pauseBetweenPasses = Duration.seconds(600)

    private let age: Mutex<Duration?>
    private let read: Slice
    private let core: Mailbox<CoreInput>
    private let now: @Sendable () -> Instant
    private let log: Logger

    /// - Parameter now: the wall clock.
    init(
        age: Duration?, core: Mailbox<CoreInput>, now: @escaping @Sendable () -> Instant, log: Logger,
        read: @escaping Slice
    ) {
        self.age = Mutex(age)
        self.read = read
        self.core = core
        self.now = now
        self.log = log
    }

    /// Sets the age for the next pass; nil keeps all devices.
    func setAge(_ age: Duration?) { self.age.withLock { $0 = age } }

    /// Returns when the task is cancelled.
    func run() async {
        while !Task.isCancelled {
            if let age = age.withLock({ $0 }) { await pass(since: now() + (.zero - age)) }
            try? await Task.sleep(for: Self.pauseBetweenPasses)
        }
    }

    func pass(since time: Instant) async {
        var last: DeviceKey?
        repeat {
            do {
                let slice = try await read(time, last, Self.slice)
                for first in stride(from: 0, to: slice.users.count, by: Self.usersAtOnce) where !Task.isCancelled {
                    core.postAlways(.store(.unseen(Array(slice.users[first...].prefix(Self.usersAtOnce)))))
                    try? await Task.sleep(for: Self.pause)
                }
                last = slice.end
            } catch {
                return log.warning("devices that were not seen for long cannot be looked up yet: \(error)")
            }
            if last != nil { try? await Task.sleep(for: Self.pause) }
        } while last != nil && !Task.isCancelled
    }
}
