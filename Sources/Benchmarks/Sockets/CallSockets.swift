import Glibc

/// What the sockets of complete calls between phones that are online cost a server that does nothing else: one thread
/// with epoll, 6 requests and 13 frames a call, on two connections that stay. Confined to a thread.
///
/// | request | frames to the caller | to the callee |
/// |---|---|---|
/// | invite | result | incoming |
/// | ringing; answer | ringing; answered | each its result |
/// | callee connected | | result |
/// | caller connected | result, connected | connected |
/// | hangup | result, ended | ended |
final class CallSockets {
    enum Sending: CaseIterable {
        /// Each frame by itself.
        case each
        /// What one connection gets in one turn at once.
        case together
    }

    /// What a lap came to, in CPU time of the server's thread.
    struct Lap {
        var calls = 0
        var sends = 0
        var receives = 0
        var seconds = 0.0
        var sendSeconds = 0.0
        var receiveSeconds = 0.0

        mutating func add(_ other: Lap) {
            calls += other.calls
            sends += other.sends
            receives += other.receives
            seconds += other.seconds
            sendSeconds += other.sendSeconds
            receiveSeconds += other.receiveSeconds
        }
    }

    private struct Phone {
        let socket: Int32
        var bytes = 0
        /// In the call.
        var requests = 0
        /// Frames it is to get in this turn.
        var due = 0
    }

    private static let mostFrames = 64
    /// Of the store, in ``epoll``; no phone's.
    private static let store = -1

    private let calls: Int
    private let epoll: Epoll
    private var phones: [Phone] = []
    private let thread: PhoneThread
    /// What each step goes into before frames follow from it.
    private var store: StepStore?
    private let frames = [UInt8](repeating: 7, count: CallPhones.frameBytes * mostFrames)
    private var buffer = [UInt8](repeating: 0, count: 2_048)
    /// To whom the frames of a turn go, in their order.
    private var order: [Int] = []

    /// - Parameters:
    ///   - calls: in a lap, of pairs at random.
    ///   - atOnce: how many of them are under way, if there are as many pairs.
    init(pairs: Int, calls: Int, atOnce: Int) throws(BenchmarkError) {
        self.calls = calls
        epoll = try Epoll()
        let loopback = try Loopback(backlog: 1)
        var (callers, accepted): ([Int32], [Int32]) = ([], [])
        do {
            for _ in 0..<2 * pairs {
                callers.append(try loopback.connect())
                accepted.append(try loopback.accept())
            }
            // Whoever call each other did not connect one after the other.
            let order = callers.indices.shuffled()
            (callers, accepted) = (order.map { callers[$0] }, order.map { accepted[$0] })
            for (number, socket) in accepted.enumerated() { try epoll.add(socket, as: number) }
            phones = accepted.map { Phone(socket: $0) }
            thread = try PhoneThread { [callers] next in
                let phones = try CallPhones(callers)
                while next() { try phones.makeCalls(calls, atOnce: atOnce) }
            }
        } catch {
            for socket in callers + accepted { close(socket) }
            throw error
        }
    }

    /// Ends the phones. To be called once, at the end.
    /// - Returns: what has stopped them before.
    func end() -> BenchmarkError? {
        for phone in phones { shutdown(phone.socket, Int32(SHUT_RDWR)) }
        let failure = thread.end()
        for phone in phones { close(phone.socket) }
        return failure
    }

    /// Has the calls of later laps go into `store`, until ``leaveStore()``.
    func use(_ store: StepStore) throws(BenchmarkError) {
        try epoll.add(store.descriptor, as: Self.store)
        self.store = store
    }

    /// Lets go of the store, which then is waited for no more.
    func leaveStore() { store = nil }

    /// CPU time of the phones so far.
    var phoneSeconds: Double { thread.seconds }

    /// Has the pairs make their calls.
    func lap(_ sending: Sending) throws -> Lap {
        var lap = Lap()
        thread.startLap()
        let began = OwnUsage.threadSeconds
        while lap.calls < calls || store?.isBusy == true {
            let count = try epoll.wait()
            let ready = OwnUsage.threadSeconds
            var isDurable = false
            for index in 0..<count {
                let number = epoll.number(index)
                guard number != Self.store else {
                    isDurable = true
                    continue
                }
                lap.calls += try receive(number)
                lap.receives += 1
            }
            if let store {
                try store.commit(order)
                order = isDurable ? try store.takeDurable() : []
            }
            let received = OwnUsage.threadSeconds
            lap.sends += try send(sending)
            lap.receiveSeconds += received - ready
            lap.sendSeconds += OwnUsage.threadSeconds - received
        }
        lap.seconds = OwnUsage.threadSeconds - began
        return lap
    }

    /// - Returns: how many calls are over by it.
    private func receive(_ number: Int) throws(BenchmarkError) -> Int {
        let count = recv(phones[number].socket, &buffer, buffer.count, 0)
        guard count > 0 else { throw BenchmarkError("a phone has closed its connection") }
        phones[number].bytes += count
        var calls = 0
        while phones[number].bytes >= CallPhones.requestBytes {
            phones[number].bytes -= CallPhones.requestBytes
            phones[number].requests += 1
            store?.note(number, phones[number].requests)
            calls += answer(number, phones[number].requests)
        }
        return calls
    }

    /// - Returns: how many calls are over by it.
    private func answer(_ number: Int, _ request: Int) -> Int {
        let (caller, callee) = (number & ~1, number | 1)
        if number == callee {
            order.append(callee)
            if request < 3 { order.append(caller) } else { phones[callee].requests = 0 }
            return 0
        }
        order += request == 1 ? [caller, callee] : [caller, caller, callee]
        guard request == 3 else { return 0 }
        phones[caller].requests = 0
        return 1
    }

    /// - Returns: how many sends that were.
    private func send(_ sending: Sending) throws(BenchmarkError) -> Int {
        defer { order.removeAll(keepingCapacity: true) }
        if sending == .each {
            for number in order { try send(1, to: number) }
            return order.count
        }
        var sends = 0
        for number in order { phones[number].due += 1 }
        for number in order where phones[number].due > 0 {
            try send(phones[number].due, to: number)
            phones[number].due = 0
            sends += 1
        }
        return sends
    }

    private func send(_ count: Int, to number: Int) throws(BenchmarkError) {
        let bytes = count * CallPhones.frameBytes
        precondition(bytes <= frames.count, "a phone gets a few frames in a turn")
        guard Glibc.send(phones[number].socket, frames, bytes, Int32(MSG_NOSIGNAL)) == bytes else {
            throw .system("send")
        }
    }
}

@available(*, unavailable)
extension CallSockets: Sendable {}
