import Glibc

/// The phones of complete calls: they send when what they wait for has come, and nothing else. Lives on its thread.
///
/// Frames have no content, so a phone knows what has come by how much.
final class CallPhones {
    /// About what a frame takes: the mean of a call's, of which two carry a session description and the others are short.
    static let requestBytes = 300
    static let frameBytes = 250

    private struct Phone {
        let socket: Int32
        var said = 0
        var bytes = 0

        var frames: Int { bytes / CallPhones.frameBytes }
    }

    private let epoll: Epoll
    private var phones: [Phone]
    /// Callers without a call.
    private var free: [Int]
    private let request = [UInt8](repeating: 7, count: requestBytes)
    private var buffer = [UInt8](repeating: 0, count: 65_536)

    /// - Parameter sockets: callers at even places, whom they call after them; closed at the end.
    init(_ sockets: [Int32]) throws(BenchmarkError) {
        phones = sockets.map { Phone(socket: $0) }
        free = Array(stride(from: 0, to: sockets.count, by: 2))
        epoll = try Epoll()
        for (number, socket) in sockets.enumerated() { try epoll.add(socket, as: number) }
    }

    deinit { for phone in phones { close(phone.socket) } }

    /// Makes so many calls, each by one of the free callers at random.
    func makeCalls(_ count: Int, atOnce: Int) throws(BenchmarkError) {
        var (begun, over) = (0, 0)
        while over < count {
            while begun < count, begun - over < atOnce, !free.isEmpty {
                free.swapAt(Int.random(in: free.indices), free.count - 1)
                try say(free.removeLast())
                begun += 1
            }
            for index in 0..<(try epoll.wait()) {
                let number = epoll.number(index)
                try receive(number)
                let caller = number & ~1
                guard try goOn(caller) else { continue }
                free.append(caller)
                over += 1
            }
        }
    }

    /// Says what is to be said next in the call of `caller`.
    /// - Returns: whether the call is over.
    private func goOn(_ caller: Int) throws(BenchmarkError) -> Bool {
        let callee = caller + 1
        // It rings and is answered.
        if phones[callee].said == 0, phones[callee].frames >= 1 { try say(callee, 2) }
        // Both are connected.
        if phones[callee].said == 2, phones[callee].frames >= 3 { try say(callee) }
        if phones[caller].said == 1, phones[caller].frames >= 3 { try say(caller) }
        // Both have been told so: it is hung up.
        if phones[caller].said == 2, phones[callee].said == 3, phones[caller].frames == 5, phones[callee].frames == 5 {
            try say(caller)
        }
        guard phones[caller].said == 3, phones[caller].frames == 7, phones[callee].frames == 6 else { return false }
        for number in [caller, callee] { (phones[number].said, phones[number].bytes) = (0, 0) }
        return true
    }

    private func say(_ number: Int, _ count: Int = 1) throws(BenchmarkError) {
        for _ in 0..<count {
            guard send(phones[number].socket, request, request.count, Int32(MSG_NOSIGNAL)) == request.count
            else { throw .system("a phone's send") }
        }
        phones[number].said += count
    }

    private func receive(_ number: Int) throws(BenchmarkError) {
        let count = recv(phones[number].socket, &buffer, buffer.count, 0)
        guard count > 0 else { throw BenchmarkError("a phone's connection was closed") }
        phones[number].bytes += count
    }
}

@available(*, unavailable)
extension CallPhones: Sendable {}
