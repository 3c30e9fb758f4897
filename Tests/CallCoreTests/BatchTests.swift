import CallVocabulary
import Determinism
import RecordModel
import Testing

@testable import CallCore

/// A turn of the core's loop takes many inputs, whose records are committed together.
@Suite struct BatchTests {
    @Test(arguments: 0..<10 as Range<UInt64>)
    func `what is committed together is at each commit what would be committed one by one`(_ batch: UInt64) {
        var spared = 0
        for seed in batch * 5..<(batch + 1) * 5 {
            var simulation = Simulation(seed: seed, steps: 400, restarts: false)
            simulation.run()
            var (single, together) = (Replay(simulation.world, seed), Replay(simulation.world, seed))
            var random = SeededGenerator(seed: seed)
            var left = 0
            for step in simulation.world.history {
                single.take(step)
                single.commit()
                together.take(step)
                left -= 1
                guard left <= 0 else { continue }
                together.commit()
                left = .random(in: 1...40, using: &random)
                // Here the process may end, and the next one takes up what is in the store.
                guard together.store == single.store else {
                    Issue.record("seed \(seed)")
                    return
                }
            }
            together.commit()
            #expect(together.outputs == single.outputs, "seed \(seed)")
            spared += single.records - together.records
        }
        #expect(spared > 0)
    }

    /// What one process is told, once more.
    private struct Replay {
        let core: CallCore
        var store = Disk()
        var outputs: [CoreEffect] = []
        var records = 0
        private var effects = EffectBuffer()

        init(_ world: World, _ seed: UInt64) {
            core = CallCore(
                timers: world.timers, limits: world.limits, policy: world.policy, random: SeededGenerator(seed: seed))
        }

        mutating func take(_ step: (at: Instant, input: CoreInput?)) {
            if let input = step.input {
                core.handle(input, now: step.at, effects: &effects)
            } else {
                core.handleTimeouts(now: step.at, effects: &effects)
            }
        }

        mutating func commit() {
            let (records, outputs) = effects.take()
            for record in records { store.apply(record) }
            self.records += records.count
            self.outputs += outputs.release(CommitReceipt())
        }
    }

    @Test func `of a call answered as it rings one record is kept, and all of its end`() throws {
        let world = World()
        let (caller, callee) = (world.online("alice"), world.online("bob"))
        let call = world.newCall()
        caller.call(.user(callee.user), id: call)
        let core = world.core
        var effects = EffectBuffer()
        func tell(_ phone: Phone, _ command: ClientRequest) throws {
            let connection = try #require(phone.connection)
            core.handle(
                .client(.requested(connection, world.nextRequest(), command)), now: world.now, effects: &effects)
        }
        func kept() -> [String] { effects.take().records.map(Self.name) }
        try tell(callee, .ringing(call))
        try tell(callee, .answer(call, sdp: nil))
        #expect(kept() == ["leg answered", "call answered"])
        try tell(callee, .connected(call))
        try tell(caller, .connected(call))
        try tell(caller, .hangup(call, .hangup))
        #expect(kept() == ["call connected", "call ended", "leg ended"])
    }

    @Test func `a call that wakes one device and rings on another at once is kept as both`() throws {
        let world = World()
        let (caller, callee, asleep) = (world.online("alice"), world.online("bob"), world.online("bob"))
        asleep.ask(.close)
        let call = world.newCall()
        var effects = EffectBuffer()
        for (phone, command) in [
            (caller, ClientRequest.invite(Invite(call: call, to: .user(callee.user)))), (callee, .ringing(call)),
        ] {
            let connection = try #require(phone.connection)
            world.core.handle(
                .client(.requested(connection, world.nextRequest(), command)), now: world.now, effects: &effects)
        }
        let records = effects.take().records.map(Self.name)
        #expect(records.filter { $0.hasPrefix("call") } == ["call waking", "call ringing"])
        #expect(records.filter { $0.hasPrefix("leg") } == ["leg ringing", "leg waking"])
    }

    private static func name(_ record: StoreRecord) -> String {
        switch record {
        case .call(let call): "call \(call.state)"
        case .leg(let leg): "leg \(leg.state)"
        default: "\(record)"
        }
    }
}
