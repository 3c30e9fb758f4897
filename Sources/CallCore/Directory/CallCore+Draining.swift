import CallVocabulary
import Determinism

/// Draining before a stop: refuses new calls, lets live calls end, and tells all sessions.
extension CallCore {
    /// How many sessions are told at a time, and the pause between: a server with many sessions stays responsive.
    private static let toldAtOnce = 500
    private static let pause = Duration.milliseconds(10)

    /// Starts draining. When already draining, sets another time and tells all sessions again.
    func beginDraining(within time: Duration) {
        let wasTelling = !undrained.isEmpty
        drainsUntil = now + time
        undrained = directory.connections.reversed()
        if !wasTelling { tellOfDraining() }
        refuseWaitingInvites()
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
