import EventJournal
import EventLoop
import Testing

@Suite("What a loop says of its turns", .timeLimit(.minutes(5)))
struct LoopStatisticsTests {
    /// What a turn begins with.
    enum Beginning: CaseIterable {
        case job, timer, preciseTimer, accepted, connected, received, written
    }

    /// What lives on a loop.
    private final class Parts {
        var timer: LoopTimer?
        var preciseTimer: PreciseTimer?
        var acceptor: SocketAcceptor?
        var connections: [TCPConnection] = []
    }

    /// Keeps the thread busy at the one beginning that the test is about.
    private struct Work: Sendable {
        static let time = Duration.milliseconds(30)

        let beginning: Beginning
        let journal = Journal<Beginning>()

        func begins(_ beginning: Beginning) {
            let end = ContinuousClock.now + Self.time
            while beginning == self.beginning, ContinuousClock.now < end {}
            journal.append(beginning)
        }
    }

    private func start(_ name: String) throws -> (loop: EventLoop, parts: LoopBound<Parts>) {
        let loop = try EventLoop(name: name)
        loop.start()
        return (loop, LoopBound(Parts(), on: loop))
    }

    /// Of all turns but the one under way, in which nothing else happens.
    private func statistics(_ loop: EventLoop) async -> LoopStatistics {
        await withCheckedContinuation { continuation in
            loop.execute { loop.inNextTurn { continuation.resume(returning: loop.statistics) } }
        }
    }

    @Test("counts a turn for as long as it took, whatever it began with", arguments: Beginning.allCases)
    func busy(_ beginning: Beginning) async throws {
        let work = Work(beginning: beginning)
        let (loop, parts) = try start("loop test")
        // For the other end, so that the turn begins with this one.
        let (peer, others) = try start("peer")
        var before = await statistics(loop)
        switch beginning {
        case .job: loop.execute { work.begins(.job) }
        case .timer:
            loop.execute {
                parts.value.timer = LoopTimer(loop: loop) { work.begins(.timer) }
                parts.value.timer?.start(after: .milliseconds(5))
            }
        case .preciseTimer:
            try await loop.run {
                Result {
                    parts.value.preciseTimer = try PreciseTimer(loop: loop) { work.begins(.preciseTimer) }
                    parts.value.preciseTimer?.start(after: .milliseconds(5))
                }
            }?.get()
        case .accepted, .received: try await connect(others, to: listen(parts, work), work)
        case .connected: try await connect(parts, to: listen(others, work), work)
        case .written:
            try await connect(parts, to: listen(others, work), work)
            // What is written waits for it to be read.
            try await work.journal.wait(for: "both ends") { $0.contains(.accepted) && $0.contains(.connected) }
            before = await statistics(loop)
            _ = await peer.run { others.value.connections[0].resumeReading() }
        }
        try await work.journal.wait(for: beginning)
        let after = await statistics(loop)
        #expect(after.busy - before.busy >= Work.time)
        let longer = LoopStatistics.bounds.count { $0 <= Work.time }
        #expect(after.turns[longer...].reduce(0, +) > before.turns[longer...].reduce(0, +))
        #expect(after.turns.reduce(0, +) > before.turns.reduce(0, +))
        for parts in [parts, others] {
            _ = await parts.loop.run {
                parts.value.timer = nil
                parts.value.preciseTimer = nil
                parts.value.acceptor = nil
                for connection in parts.value.connections { connection.close() }
                parts.value.connections = []
            }
        }
        await loop.stopAndWait()
        await peer.stopAndWait()
    }

    private func listen(_ parts: LoopBound<Parts>, _ work: Work) async throws -> SocketAddress {
        let address = await parts.loop.run {
            Result {
                // Numeric, so never nil.
                let acceptor = try SocketAcceptor(
                    loop: parts.loop, address: SocketAddress(host: "127.0.0.1", port: 0)!
                ) {
                    let connection = TCPConnection.adopt(loop: parts.loop, descriptor: $0) {
                        if case .received = $0 { work.begins(.received) }
                    }
                    if work.beginning == .written { connection.stopReading() }
                    parts.value.connections.append(connection)
                    work.begins(.accepted)
                }
                parts.value.acceptor = acceptor
                return acceptor.address
            }
        }
        return try #require(address).get()
    }

    private func connect(_ parts: LoopBound<Parts>, to address: SocketAddress, _ work: Work) async throws {
        _ = await parts.loop.run {
            parts.value.connections.append(
                TCPConnection.connect(loop: parts.loop, to: address) {
                    switch $0 {
                    case .connected:
                        // More than the kernel takes while it is not read.
                        let count = work.beginning == .written ? 40_000_000 : 1
                        parts.value.connections[0].write([UInt8](repeating: 7, count: count))
                        work.begins(.connected)
                    case .drained: work.begins(.written)
                    case .received, .closed: break
                    }
                })
        }
    }

    @Test("shows no time and no turn of a loop that has nothing to do")
    func idle() async throws {
        let (loop, _) = try start("loop test")
        let (peer, parts) = try start("peer")
        let before = await statistics(loop)
        let journal = Journal<LoopStatistics>()
        _ = await peer.run {
            parts.value.timer = LoopTimer(loop: peer) { journal.append(loop.statistics) }
            parts.value.timer?.start(after: .milliseconds(200))
        }
        try await journal.wait(for: "the timer") { !$0.isEmpty }
        let after = journal.entries[0]
        // With the turn that told of those before it.
        #expect(after.turns.reduce(0, +) == before.turns.reduce(0, +) + 1)
        #expect(after.busy > before.busy)
        _ = await peer.run { parts.value.timer = nil }
        await loop.stopAndWait()
        await peer.stopAndWait()
    }
}
