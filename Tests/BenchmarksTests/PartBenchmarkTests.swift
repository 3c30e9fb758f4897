import CallStore
import CallVocabulary
import Foundation
import PushCore
import RecordTables
import SignalProtocol
import Testing

@testable import Benchmarks

@Suite(.serialized) struct PartBenchmarkTests {
    /// Each piece of work is done twice to warm up and to be measured, and that in two rounds.
    private let settings = PartSettings(rounds: 2, seconds: 0)

    /// What each figure of a report must have, whatever the machine; and what it was to do.
    private func check(_ report: PartReport, _ part: BenchmarkPart, operations: [String: Int]) {
        #expect(report.part == part && report.rounds == 2)
        #expect(Dictionary(uniqueKeysWithValues: report.figures.map { ($0.name, $0.operations) }) == operations)
        for figure in report.figures {
            #expect(figure.cost.min > 0 && figure.referenceCost.min > 0, "\(figure.name)")
            #expect(figure.ratio.min > 0, "\(figure.name)")
            #expect(report.text().contains(figure.name), "\(figure.name)")
        }
    }

    @Test("a small run reads and writes each frame of a call", .timeLimit(.minutes(5)))
    func codec() async throws {
        var rounds: [Int] = []
        let report = try await CodecBenchmark(settings: settings).run { rounds.append($0) }
        #expect(rounds == [1, 2])
        let (read, written) = (CallFrames.fromClients.count, CallFrames.fromServer.count)
        check(
            report, .codec,
            operations: [
                "scan of an invite": 128, "invite decoded": 128, "frames of a call decoded": 128 * read,
                "incoming call encoded": 128, "messages of a call encoded": 128 * written, "candidate relayed": 128,
                "update relayed": 128,
            ])
        let scan = try #require(report.figures.first)
        // It is the scanner's promise.
        #expect(scan.also.first { $0.name == "allocations" }?.value == 0)
        #expect(scan.also.first { $0.name == "GB/s" }.map { $0.value > 0 } == true)
        for (name, item) in [("candidate relayed", RelayTests.candidate), ("update relayed", RelayTests.update)] {
            let allocations = report.figures.first { $0.name == name }?.also.first { $0.name == "allocations" }
            #expect(try #require(allocations).value <= item.most, "\(name)")
        }
    }

    @Test("what is measured are a call's frames: the invite has 740 bytes, and each is read as it was meant")
    func frames() throws {
        let invite = try CodecBenchmark.invite()
        #expect(invite.count == 740)
        guard case .success(.request(_, .owner(.invite(let read)))) = SignalDecoder.decode(frame: invite) else {
            Issue.record("the invite is none")
            return
        }
        #expect(read.call == CallFrames.call && read.sdp != nil)
        for message in CallFrames.fromClients {
            let decoded = SignalDecoder.decode(frame: CodecBenchmark.frame(message))
            #expect((try? decoded.get()) == message)
        }
    }

    @Test("a small run makes each kind of call", .timeLimit(.minutes(5)))
    func core() async throws {
        var benchmark = CoreBenchmark(settings: settings)
        benchmark.smallCall = 2
        benchmark.middleCall = 5
        benchmark.largeCall = 20
        benchmark.few = 3
        benchmark.many = 9
        let report = try await benchmark.run { _ in }
        check(
            report, .core,
            operations: [
                "online call": 64, "wake call": 64, "candidate relayed": 128, "leg of a small call": 40,
                "leg of a middle call": 40, "leg of a large call": 40, "call among many": 64,
            ])
    }

    @Test("calls of the scene do what calls do")
    func scene() throws {
        let scene = CoreScene()
        let phones = scene.addPhones(4)
        let opened = scene.counts
        scene.call(phones[0], phones[1])
        #expect(scene.callsConnected == 1 && scene.liveCalls == 0)
        // Invited, ringing, answered, connected twice, hung up, acknowledged twice.
        #expect(scene.counts.inputs - opened.inputs == 8)
        #expect(scene.counts.pushes == 0)
        scene.sleep(phones[2])
        try scene.wake(phones[0], phones[2])
        #expect(scene.counts.pushes == 1 && scene.callsConnected == 2)
        try scene.wake(phones[0], phones[2])
        #expect(scene.counts.pushes == 2)
        #expect(throws: BenchmarkError.self) { try scene.wake(phones[0], phones[1]) }
        scene.makeGroup("two", phones[1]..<phones[3] + 1)
        #expect(scene.counts.refusals == 0)
        scene.begin(phones[0], phones[3])
        #expect(scene.liveCalls == 2, "the one that no phone was woken for, and this")
    }

    @Test("a small run adds, cancels and lets expire", .timeLimit(.minutes(5)))
    func timers() async throws {
        var benchmark = TimersBenchmark(settings: settings)
        benchmark.few = 50
        benchmark.many = 2_000
        benchmark.batch = 20
        let report = try await benchmark.run { _ in }
        var operations: [String: Int] = [:]
        for name in ["added", "cancelled", "expired"] {
            operations["\(name), few pending"] = 40
            operations["\(name), many pending"] = 40
        }
        check(report, .timers, operations: operations)
    }

    @Test("a small run makes a VoIP push, a data message and a Web Push for each profile", .timeLimit(.minutes(5)))
    func payloads() async throws {
        let report = try await PayloadsBenchmark(settings: settings).run { _ in }
        var operations: [String: Int] = [:]
        for profile in PayloadProfile.builtIn {
            for kind in ["VoIP", "data", "Web Push"] {
                operations["\(profile.name), \(kind)"] = 2 * PayloadsBenchmark.repeats
            }
        }
        check(report, .payloads, operations: operations)
        #expect(report.figures.allSatisfy { $0.also.first.map { $0.name == "bytes" && $0.value > 300 } == true })
    }

    @Test("a small run commits each record in both modes", .timeLimit(.minutes(5)))
    func store() async throws {
        let report = try await StoreBenchmark(settings: settings).run { _ in }
        var operations: [String: Int] = [:]
        for batch in [1, 10, 100, 1000] {
            for mode in ["tables", "journal"] { operations["\(mode), \(batch) a commit"] = 2 }
        }
        check(report, .store, operations: operations)
        for figure in report.figures {
            #expect(figure.also.map(\.name) == ["commits/s", "records/s", "µs CPU/record", "µs p99, at most"])
            #expect(figure.also.allSatisfy { $0.value > 0 }, "\(figure.name)")
        }
    }

    @Test("only what goes to the journal first is durable before it is in the tables", .timeLimit(.minutes(5)))
    func modes() async throws {
        let folder = NSTemporaryDirectory() + "modes-\(UUID().uuidString.prefix(8))"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        for (mode, rows) in [(StoreBenchmark.Mode.tables, 20), (.journal, 0)] {
            var behind = mode.behind
            behind.delay = .seconds(3600)
            let outcome = try await StoreRun(folder: "\(folder)/\(mode)", behind: behind).measure(10, for: 0)
            #expect(outcome.rowsWhenDurable == rows, "\(mode)")
            #expect(outcome.commits.count == 1 && outcome.all.seconds > outcome.commits.seconds)
        }
    }

    @Test("a small run makes each call, from the bytes of its requests to the store", .timeLimit(.minutes(5)))
    func calls() async throws {
        var benchmark = CallsBenchmark(settings: settings)
        benchmark.pairs = 3
        let report = try await benchmark.run { _ in }
        let parts = CallsBenchmark.Part.allCases.map(\.rawValue) + [CallsBenchmark.Part.all]
        check(report, .calls, operations: Dictionary(uniqueKeysWithValues: parts.map { ($0, 2 * 3) }))
        let all = try #require(report.figures.last)
        func also(_ quantity: String) -> Double? { all.also.first { $0.name == quantity }?.value }
        #expect(also("frames") == 13)
        // A commit for each step of all of them.
        #expect(also("commits") == 2)
        // Each of the six steps changes the call or its leg, most of them both.
        #expect(7...18 ~= (also("records") ?? 0))
    }

    @Test("a folder in memory is a doubt, one on a disk is none")
    func dataFolder() {
        let mounts = "22 1 254:0 / / rw - ext4 /dev/vda rw\n25 22 0:23 / /tmp rw - tmpfs tmpfs rw\n"
        func report(_ folder: String) -> PartReport {
            let fileSystem = FileSystem(of: folder, mounts: mounts)
            return PartReport(.store, work: "w", rounds: 1, Readings(), dataOn: fileSystem)
        }
        let (memory, disk) = (report("/tmp/a"), report("/a"))
        #expect(memory.work == "w; data on tmpfs" && disk.work == "w; data on ext4")
        #expect(memory.doubts.count == 1 && disk.doubts.isEmpty)
        #expect(memory.text().hasSuffix("in doubt: \(memory.doubts.joined())"))
    }
}
