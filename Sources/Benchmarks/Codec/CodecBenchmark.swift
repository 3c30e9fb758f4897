import CallVocabulary
import SignalProtocol
import WireJSON

/// The cost of decoding and encoding the frames of a call.
struct CodecBenchmark: ComponentBenchmark {
    let part = BenchmarkPart.codec
    let writesToDisk = false
    var settings: PartSettings

    /// The frames to decode, and a reused output buffer.
    private struct Bench {
        let seconds: Double
        let invite: [UInt8]
        let fromClients: [[UInt8]]
        let candidates: [UInt8]
        let update: [UInt8]
        var buffer: [UInt8] = []

        /// Repetitions of a measured piece, so that it takes longer than reading the clock.
        static let repeats = 64
    }

    var work: String {
        """
        \(CallFrames.fromClients.count) frames from clients and \(CallFrames.fromServer.count) from the server make a call; \
        an invite of \(CallFrames.inviteCount) bytes is scanned
        """
    }

    /// - Throws: ``BenchmarkError`` when a frame is not as expected.
    func measure(in folder: String, _ readings: inout Readings) throws {
        var bench = Bench(
            seconds: settings.seconds, invite: try Self.invite(), fromClients: CallFrames.fromClients.map(Self.frame),
            candidates: Self.frame(.notification(.candidates(CallFrames.batch))),
            update: Self.frame(.request(.number(1), .update(CallFrames.update))))
        try Self.measureScan(bench, &readings)
        try Self.measureDecoding(bench, &readings)
        Self.measureEncoding(&bench, &readings)
        try Self.measureRelay(bench, &readings)
    }

    /// Of exactly `CallFrames.inviteCount` bytes.
    static func invite() throws -> [UInt8] {
        // The padding's line has a line break, so the smallest padding is 1.
        let least = frame(CallFrames.invite(padding: 1)).count
        let invite = frame(CallFrames.invite(padding: CallFrames.inviteCount - least + 1))
        guard invite.count == CallFrames.inviteCount else {
            throw BenchmarkError("an invite has \(least) bytes at least, more than \(CallFrames.inviteCount)")
        }
        return invite
    }

    static func frame(_ message: ClientMessage) -> [UInt8] {
        var frame: [UInt8] = []
        SignalEncoder.encode(message, into: &frame)
        return frame
    }

    // MARK: Reading

    private static func measureScan(_ bench: Bench, _ readings: inout Readings) throws {
        let cost = try Cost.measure(for: bench.seconds) { cost in
            try cost.add(Bench.repeats) {
                for _ in 0..<Bench.repeats {
                    let bytes = try bench.invite.withUnsafeBytes { try JSONScanner.document($0).bytes.count }
                    guard bytes == bench.invite.count else { throw BenchmarkError("the invite is not one object") }
                }
            }
        }
        let reference = ReferenceLoop.byteLoopCost(over: bench.invite, for: bench.seconds)
        let rate = PartFigure.Quantity(Double(bench.invite.count) / cost.nanosecondsEach, "GB/s")
        readings.note(
            "scan of an invite", cost, to: reference, against: ReferenceLoop.byteLoop, also: [rate])
    }

    private static func measureDecoding(_ bench: Bench, _ readings: inout Readings) throws {
        for (name, frames) in [("invite decoded", [bench.invite]), ("frames of a call decoded", bench.fromClients)] {
            let cost = try Cost.measure(for: bench.seconds) { cost in
                try cost.add(Bench.repeats * frames.count) {
                    for _ in 0..<Bench.repeats {
                        for frame in frames { _ = try SignalDecoder.decode(frame: frame).get() }
                    }
                }
            }
            note(name, cost, over: frames, bench, &readings)
        }
    }

    // MARK: Writing

    private static func measureEncoding(_ bench: inout Bench, _ readings: inout Readings) {
        let incoming = ServerMessage.event(seq: 1, CallFrames.incoming)
        let kinds = [("incoming call encoded", [incoming]), ("messages of a call encoded", CallFrames.fromServer)]
        for (name, messages) in kinds {
            let cost = Cost.measure(for: bench.seconds) { cost in
                cost.add(Bench.repeats * messages.count) {
                    for _ in 0..<Bench.repeats {
                        for message in messages { encode(message, &bench) }
                    }
                }
            }
            let frames = messages.map { message in
                encode(message, &bench)
                return bench.buffer
            }
            note(name, cost, over: frames, bench, &readings)
        }
    }

    private static func encode(_ message: ServerMessage, _ bench: inout Bench) {
        bench.buffer.removeAll(keepingCapacity: true)
        SignalEncoder.encode(message, now: CallFrames.now, into: &bench.buffer)
    }

    // MARK: Both

    /// Measures messages that the server relays unchanged.
    private static func measureRelay(_ bench: Bench, _ readings: inout Readings) throws {
        for (name, frame) in [("candidate relayed", bench.candidates), ("update relayed", bench.update)] {
            var relay = try Relay(ready: frame)
            let cost = try Cost.measure(for: bench.seconds) { cost in
                try cost.add(Bench.repeats) {
                    for _ in 0..<Bench.repeats { try relay.pass(frame) }
                }
            }
            note(name, cost, over: [frame], bench, &readings)
        }
    }

    /// - Parameter frames: the average number of frames in an operation.
    private static func note(
        _ name: String, _ cost: Cost, over frames: [[UInt8]], _ bench: Bench, _ readings: inout Readings
    ) {
        let bytes = frames.flatMap { $0 }
        let reference = ReferenceLoop.byteLoopCost(over: bytes, for: bench.seconds) / Double(frames.count)
        let rate = PartFigure.Quantity(Double(bytes.count) / Double(frames.count) / cost.nanosecondsEach, "GB/s")
        readings.note(name, cost, to: reference, against: ReferenceLoop.byteLoop, also: [rate])
    }
}
