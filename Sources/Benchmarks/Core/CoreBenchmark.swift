import CallVocabulary

/// The cost of calls in the call machine alone: no sockets, no store, no other threads.
struct CoreBenchmark: ComponentBenchmark {
    let part = BenchmarkPart.core
    let writesToDisk = false
    var settings: PartSettings
    /// The number of phones rung by a small call; others likewise.
    var smallCall = 10
    var middleCall = 100
    var largeCall = 1_000
    /// The number of other live calls.
    var few = 100
    var many = 10_000

    private static let pairs = 32

    var work: String {
        """
        calls of one phone with another, with one that sleeps, and with \(smallCall), \(middleCall) and \
        \(largeCall) at once; then among \(few) and \(many) live calls
        """
    }

    /// - Throws: ``BenchmarkError`` when a call does not end as expected.
    func measure(in folder: String, _ readings: inout Readings) throws {
        let reference = ReferenceLoop.dictionaryCost(for: settings.seconds)
        try measureCalls(reference, &readings)
        try measureLegs(reference, &readings)
        try measureLiveCalls(&readings)
    }

    // MARK: Kinds of calls

    private func measureCalls(_ reference: Double, _ readings: inout Readings) throws {
        let scene = CoreScene()
        let phones = scene.addPhones(4)
        let online = try measure(scene) { scene.call(phones[0], phones[1]) }
        readings.note("online call", online, to: reference, against: ReferenceLoop.dictionary)
        scene.sleep(phones[3])
        let wake = try measure(scene) { try scene.wake(phones[2], phones[3]) }
        readings.note("wake call", wake, to: reference, against: ReferenceLoop.dictionary)

        let call = scene.begin(phones[0], phones[1])
        let batch = CallCandidates(call: call, candidates: CallFrames.batch.candidates)
        let before = scene.counts
        let relay = Cost.measure(for: settings.seconds) { cost in
            cost.add(2 * Self.pairs) {
                for _ in 0..<2 * Self.pairs { scene.sendCandidates(batch, from: phones[0]) }
            }
            scene.acknowledge(phones[1])
        }
        guard scene.counts.messages - before.messages == relay.operations + 2 * Self.pairs else {
            throw BenchmarkError("not every candidate was passed on")
        }
        readings.note("candidate relayed", relay, to: reference, against: ReferenceLoop.dictionary)
        try check(scene)
    }

    /// Runs calls one after the other; each must connect.
    private func measure(_ scene: CoreScene, _ call: () throws -> Void) throws -> Cost {
        let before = scene.callsConnected
        let cost = try Cost.measure(for: settings.seconds) { cost in
            try cost.add(Self.pairs) { for _ in 0..<Self.pairs { try call() } }
        }
        guard scene.callsConnected - before == cost.operations + Self.pairs else {
            throw BenchmarkError("\(scene.callsConnected - before) calls were connected, not each that was made")
        }
        try check(scene)
        return cost
    }

    private func check(_ scene: CoreScene) throws {
        guard scene.counts.refusals == 0, scene.limitsHit == 0 else {
            throw BenchmarkError("\(scene.counts.refusals) requests refused, \(scene.limitsHit) limits hit")
        }
    }

    // MARK: Growth

    private func measureLegs(_ reference: Double, _ readings: inout Readings) throws {
        let small = try legCost(smallCall)
        readings.note("leg of a small call", small, to: reference, against: ReferenceLoop.dictionary)
        for (name, size) in [("middle", middleCall), ("large", largeCall)] {
            readings.note(
                "leg of a \(name) call", try legCost(size), to: small.nanosecondsEach, against: "leg of a small call")
        }
    }

    /// The cost of a leg in a call that rings this many phones.
    private func legCost(_ legs: Int) throws -> Cost {
        let scene = CoreScene()
        let caller = scene.addPhones(1)[0]
        let phones = scene.addPhones(legs)
        scene.makeGroup("all", phones)
        // Each measured piece has the same number of legs, whatever the size of the calls.
        let calls = max(1, largeCall / legs)
        let before = scene.callsConnected
        let cost = Cost.measure(for: settings.seconds) { cost in
            cost.add(calls * legs) { for _ in 0..<calls { scene.callGroup(caller, "all", phones) } }
        }
        guard (scene.callsConnected - before) * legs == cost.operations + calls * legs else {
            throw BenchmarkError("\(scene.callsConnected - before) calls to \(legs) phones were connected, not each")
        }
        try check(scene)
        return cost
    }

    private func measureLiveCalls(_ readings: inout Readings) throws {
        let reference = try callCost(among: few)
        readings.note(
            "call among many", try callCost(among: many), to: reference.nanosecondsEach, against: "call among few")
    }

    private func callCost(among live: Int) throws -> Cost {
        let scene = CoreScene()
        let phones = scene.addPhones(2 + 2 * live)
        for pair in 1...live {
            scene.begin(phones[2 * pair], phones[2 * pair + 1])
            scene.acknowledge(phones[2 * pair])
            scene.acknowledge(phones[2 * pair + 1])
        }
        let cost = try measure(scene) { scene.call(phones[0], phones[1]) }
        guard scene.liveCalls == live else { throw BenchmarkError("\(scene.liveCalls) calls are live, not \(live)") }
        return cost
    }
}
