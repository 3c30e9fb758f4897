import CallVocabulary
import Determinism

/// The last hours of a server: it takes no new calls, lets those that are live come to their end, and says so.
extension CallCore {
    /// Sessions told at a time, and the pause until the next ones: a server full of sessions stays responsive.
    private static let toldAtOnce = 500
    private static let pause = Duration.milliseconds(10)

    /// Again on a server that drains it sets another time, which everybody is told anew.
    func beginDraining(within time: Duration) {
        let wasTelling = !undrained.isEmpty
        drainsUntil = now + time
        undrained = directory.connections.reversed()
        if !wasTelling { tellOfDraining() }
    }

    func tellOfDraining() {
        for connection in undrained.suffix(Self.toldAtOnce).reversed() {
            if let session = directory.session(on: connection) { tellOfDraining(session) }
        }
        undrained.removeLast(min(Self.toldAtOnce, undrained.count))
        if !undrained.isEmpty { _ = deadlines.add(.drainingNotice, at: now + Self.pause) }
    }

    func tellOfDraining(_ session: Session) {
        guard let drainsUntil else { return }
        deliver(.draining(deadline: max(.zero, drainsUntil - now)), to: session)
    }
}
