import EventLoop
import Foundation

/// What is below a call of any server: its sockets and its disk, with nothing else on top, apart and together.
public struct SocketsBenchmark: Sendable {
    static let frame = "a frame through a socket pair, sent and received by one thread"
    static let call = "the call with a send for each frame"
    static let together = "the call with frames put together"
    static let few = "the same number of calls at once, on no more connections than they have"

    public var settings: PartSettings
    /// Where blocks are written and synced.
    public var folder = "."
    /// Two connections each.
    public var pairs = 300
    /// Calls of a pair, and phones that are woken, between two looks at the clock.
    public var callsEach = 2
    /// Of the calls among many connections: how many are under way, and how many pairs there are.
    public var callsAtOnce = 100
    public var manyPairs = 4_500
    public var phones = 100
    /// The same for frames through the socket pair.
    public var frames = 1_000

    public init(_ settings: PartSettings) {
        self.settings = settings
    }

    /// - Throws: ``BenchmarkError``: no result.
    public func run(progress: (_ round: Int) -> Void) async throws -> PartReport {
        precondition(pairs > 0 && callsEach > 0 && phones > 0 && frames > 0, "something is sent")
        precondition(callsAtOnce > 0 && manyPairs >= callsAtOnce, "calls are among others")
        // Both ends of each connection are this process's.
        let descriptors = DescriptorLimit.raise()
        let others = 4 * pairs + 2 * phones + 64
        guard others <= descriptors else {
            throw BenchmarkError(
                "this process may have \(descriptors) descriptors open, which is too few: see ulimit -n")
        }
        let data = SyncedFolder(folder)
        let hasMany = others + 4 * (callsAtOnce + manyPairs) <= descriptors
        var doubts = data.doubts
        if !hasMany {
            doubts.append(
                """
                no call among many: this process may have \(descriptors) descriptors open, which is too few: see ulimit -n
                """)
        }
        var open: [CallSockets] = []
        var readings = Readings()
        do {
            open.append(try CallSockets(pairs: pairs, calls: pairs * callsEach, atOnce: pairs))
            for pairs in hasMany ? [callsAtOnce, manyPairs] : [] {
                open.append(try CallSockets(pairs: pairs, calls: callsAtOnce * callsEach, atOnce: callsAtOnce))
                // The first calls on a connection are slower than any later one: here each has had two, more or less.
                for _ in 0...(2 * pairs / (callsAtOnce * callsEach)) { _ = try open.last?.lap(.together) }
            }
            for round in 1...settings.rounds {
                try await measure(open[0], &readings)
                if hasMany { try measure(few: open[1], many: open[2], round: round, &readings) }
                progress(round)
            }
        } catch {
            throw open.compactMap { $0.end() }.first ?? error
        }
        if let failure = open.compactMap({ $0.end() }).first { throw failure }
        let many = "and \(callsAtOnce) at once among \(2 * manyPairs) connections, of pairs at random"
        let work = """
            calls on \(2 * pairs) connections over the loopback, 6 requests and 13 frames each\
            \(hasMany ? ", \(many)" : ""); phones that connect, upgrade and go, \(phones) at once; blocks of \
            \(SyncedBlocks.blockBytes) bytes written and synced, \(data.description); \
            costs are CPU time of the one thread that is the server, and of the store's threads where each step is durable
            """
        return PartReport(.sockets, work: work, rounds: settings.rounds, readings, doubts: doubts)
    }

    private func measure(_ calls: CallSockets, _ readings: inout Readings) async throws {
        let frame = try SocketPair().measure(frames, for: settings.seconds).nanosecondsEach / 1000
        let each = try note("call, a send for each frame", calls, .each, to: frame, against: Self.frame, &readings)
        let together = try note("call, frames sent together", calls, .together, to: each, against: Self.call, &readings)
        try await noteDurable(calls, to: together, &readings)
        try noteWake(to: each, &readings)
        try noteCommit(to: each, &readings)
    }

    /// - Parameters:
    ///   - few: as many pairs as have calls.
    ///   - many: more than that.
    private func measure(few: CallSockets, many: CallSockets, round: Int, _ readings: inout Readings) throws {
        var laps: [CallSockets.Lap] = []
        let isFewFirst = round.isMultiple(of: 2)
        for sockets in isFewFirst ? [few, many] : [many, few] { laps.append(try sample(sockets, .together)) }
        if !isFewFirst { laps.reverse() }
        var reading = reading(of: laps[1], to: cost(of: laps[0]))
        reading.also.append(Figure.Quantity(Double(laps[0].sends) / Double(laps[0].calls), "sends of the few"))
        readings.note("call among many", reading, unit: .microseconds, against: Self.few)
    }

    /// The same calls with a store in ``folder``, which is removed.
    private func noteDurable(_ calls: CallSockets, to reference: Double, _ readings: inout Readings) async throws {
        let path = "\(folder)/steps-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let store = try StepStore(folder: path, pairs: pairs)
        let reading: Readings.Reading
        do {
            try calls.use(store)
            reading = try await measure(calls, store, to: reference)
            calls.leaveStore()
            await store.close()
        } catch {
            await store.close()
            throw error
        }
        readings.note("call, each step durable", reading, unit: .microseconds, against: Self.together)
    }

    /// All laps of one round, until all of their calls are in the store's tables.
    private func measure(
        _ sockets: CallSockets, _ store: StepStore, to reference: Double
    ) async throws -> Readings.Reading {
        _ = try sockets.lap(.together)
        await store.flush()
        let before = (records: store.recordsStored, commits: store.commits)
        let began = OwnUsage.processSeconds - sockets.phoneSeconds
        var all = try laps(sockets, .together)
        await store.flush()
        all.seconds = OwnUsage.processSeconds - sockets.phoneSeconds - began
        let calls = Double(all.calls)
        return reading(
            of: all, to: reference,
            also: [
                Figure.Quantity(Double(store.recordsStored - before.records) / calls, "records"),
                Figure.Quantity(Double(store.commits - before.commits) / calls, "commits"),
            ])
    }

    private func noteWake(to reference: Double, _ readings: inout Readings) throws {
        let sockets = try WakeSockets(phones: phones)
        let cost: Cost
        do {
            cost = try Cost.measure(for: settings.seconds) { cost in try cost.add(phones) { try sockets.lap() } }
        } catch {
            throw sockets.end() ?? error
        }
        if let failure = sockets.end() { throw failure }
        let reading = Readings.Reading(
            cost: cost.nanosecondsEach / 1000, reference: reference, operations: cost.operations)
        readings.note("phone that is woken", reading, unit: .microseconds, against: Self.call)
    }

    private func noteCommit(to reference: Double, _ readings: inout Readings) throws {
        let blocks = try SyncedBlocks(in: folder)
        let cost = try Cost.measure(for: settings.seconds) { cost in try cost.add(1) { try blocks.commit() } }
        func each(_ seconds: Double, _ what: String) -> Figure.Quantity {
            Figure.Quantity(seconds * 1_000_000 / Double(blocks.commits), what)
        }
        let reading = Readings.Reading(
            cost: cost.nanosecondsEach / 1000, reference: reference, operations: cost.operations,
            also: [
                each(blocks.writing.cpu, "µs CPU of pwrite"), each(blocks.writing.wall, "µs in it"),
                each(blocks.syncing.cpu, "µs CPU of fdatasync"), each(blocks.syncing.wall, "µs in it"),
            ])
        readings.note("block synced", reading, unit: .microseconds, against: Self.call)
    }

    /// - Returns: microseconds of CPU time of a call.
    private func note(
        _ name: String, _ sockets: CallSockets, _ sending: CallSockets.Sending, to reference: Double,
        against words: String, _ readings: inout Readings
    ) throws -> Double {
        let laps = try sample(sockets, sending)
        readings.note(name, reading(of: laps, to: reference), unit: .microseconds, against: words)
        return cost(of: laps)
    }

    /// All laps of one round.
    private func sample(_ sockets: CallSockets, _ sending: CallSockets.Sending) throws -> CallSockets.Lap {
        // As slow as nothing is later.
        _ = try sockets.lap(sending)
        return try laps(sockets, sending)
    }

    private func laps(_ sockets: CallSockets, _ sending: CallSockets.Sending) throws -> CallSockets.Lap {
        var all = CallSockets.Lap()
        let began = ContinuousClock.now
        repeat {
            all.add(try sockets.lap(sending))
        } while (ContinuousClock.now - began) / .seconds(1) < settings.seconds
        return all
    }

    /// Microseconds of CPU time of a call.
    private func cost(of all: CallSockets.Lap) -> Double { all.seconds * 1_000_000 / Double(all.calls) }

    private func reading(
        of all: CallSockets.Lap, to reference: Double, also: [Figure.Quantity] = []
    ) -> Readings.Reading {
        let calls = Double(all.calls)
        return Readings.Reading(
            cost: cost(of: all), reference: reference, operations: all.calls,
            also: [
                Figure.Quantity(all.sendSeconds * 1_000_000 / Double(all.sends), "µs a send"),
                Figure.Quantity(all.receiveSeconds * 1_000_000 / Double(all.receives), "µs a receive"),
                Figure.Quantity(Double(all.sends) / calls, "sends"),
                Figure.Quantity(Double(all.receives) / calls, "receives"),
            ] + also)
    }
}
