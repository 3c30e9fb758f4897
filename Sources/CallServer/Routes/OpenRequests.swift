import CallVocabulary
import EventLoop
import LibWebSockets

/// The HTTP requests of a shard that wait for an answer, by serial. Bounded in number and in time, even after their clients
/// have disconnected. Confined to the shard's loop.
final class OpenRequests<Context> {
    /// Takes the response, and the user of the request's token, if known.
    typealias Respond = (HTTPResponse, Handle?) -> Void

    struct Request {
        let deadline: Instant
        let respond: Respond
        var context: Context
    }

    private let most: Int
    private let clock: ServerClock
    private let counters: SignalCounters
    private var requests: [UInt64: Request] = [:]
    /// Counts down. WebSockets count up from 1, so no serial is given twice.
    private var lastSerial: UInt64
    private var timer: LoopTimer?
    /// When the timer fires; nil while it does not run.
    private var due: Instant?
    /// Answers a request whose time is over; nil turns it away.
    var onOverdue: ((UInt64, Request) -> Void)?

    /// - Parameters:
    ///   - most: further requests are told to retry.
    ///   - serial: of the first request.
    init(atMost most: Int, from serial: UInt64, loop: EventLoop, clock: ServerClock, counters: SignalCounters) {
        self.most = most
        self.clock = clock
        self.counters = counters
        lastSerial = serial
        timer = LoopTimer(loop: loop) { [weak self] in self?.giveUpOverdue() }
    }

    /// Adds a request.
    /// - Parameter patience: the time until it is turned away.
    /// - Returns: its serial; nil when there are too many, and it was turned away.
    func begin(_ respond: @escaping Respond, within patience: Duration, _ context: Context) -> UInt64? {
        guard requests.count < most else {
            turnAway(respond)
            return nil
        }
        let serial = lastSerial
        lastSerial -= 1
        let deadline = clock.now() + patience
        requests[serial] = Request(deadline: deadline, respond: respond, context: context)
        if due.map({ deadline < $0 }) ?? true { setTimer(at: deadline) }
        return serial
    }

    /// Removes the request, to answer it; nil when its time was over.
    func remove(_ serial: UInt64) -> Request? { requests.removeValue(forKey: serial) }

    /// nil when the request's time is over.
    subscript(serial: UInt64) -> Request? {
        get { requests[serial] }
        set { requests[serial] = newValue }
    }

    /// Handles a lost answer: a mailbox was full.
    func lost(_ serial: UInt64) {
        if let request = remove(serial) { turnAway(request.respond) }
    }

    /// Whether one user or backend, whose requests have such contexts, has half of all requests in progress, so that
    /// others need the rest.
    func isShareTaken(by isOwn: (Context) -> Bool) -> Bool {
        requests.values.count { isOwn($0.context) } >= max(1, most / 2)
    }

    /// Tells the client to retry.
    func turnAway(_ respond: Respond) {
        counters.countUnansweredQuestion()
        respond(
            .refusal(SignalError(.overloaded(retryAfter: .seconds(1)), "The server is busy; try again shortly.")), nil)
    }

    private func setTimer(at deadline: Instant) {
        due = deadline
        timer?.start(after: max(.zero, deadline - clock.now()))
    }

    private func giveUpOverdue() {
        due = nil
        let now = clock.now()
        for (serial, request) in requests where request.deadline <= now {
            requests[serial] = nil
            if let onOverdue { onOverdue(serial, request) } else { turnAway(request.respond) }
        }
        if let next = requests.values.map(\.deadline).min() { setTimer(at: next) }
    }
}

extension OpenRequests where Context == Handle? {
    /// Notes the user of the request's token.
    /// - Returns: false when the user has as many in progress as one may have, and the request was turned away.
    func note(_ user: Handle, of serial: UInt64) -> Bool {
        guard !isShareTaken(by: { $0 == user }) else {
            lost(serial)
            return false
        }
        requests[serial]?.context = user
        return true
    }
}

@available(*, unavailable)
extension OpenRequests: Sendable {}
