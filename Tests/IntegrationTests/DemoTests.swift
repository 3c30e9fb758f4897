import CallCore
import CallServer
import CallStore
import CallVocabulary
import Demo
import Foundation
import Logging
import PushSimulator
import StoreInterface
import TestCleanup
import Testing

@Suite("The demo", .world)
struct DemoTests {
    @Test("a sleeping phone is woken, and every push becomes a reported call")
    func inProcess() async throws {
        var configuration = DemoCall.Configuration(folder: world.folder)
        configuration.ringing = .milliseconds(50)
        configuration.talking = .milliseconds(50)
        var log = Logger(label: "demo", factory: { StreamLogHandler.standardError(label: $0) })
        log.logLevel = .critical
        let demo = try await DemoCall.start(configuration, log: log)
        atEnd { await demo.stop() }
        let report = try await demo.run()
        #expect(report.problems == [])
        #expect(report.audit.counts.intended == 1)
        #expect(report.audit.counts.count(.accepted, .reported) == 1)
        #expect(report.phones?.counts.delivered == 1)
        #expect(report.call.endReason == .hangup)
    }

    @Test("reveille demo --json exits with 0 and prints one object")
    func executable() async throws {
        let result = try await Program.reveille("demo", "--json")
        #expect(result.ending == .exit(0), "\(result.errors)")
        let report = try JSONObject(result.output)
        #expect(report["ok"] as? Bool == true)
        #expect(report["problems"] as? [String] == [])
        #expect((report["call"] as? [String: Any])?["reason"] as? String == "hangup")
        let audit = report["audit"] as? [String: Any]
        #expect(audit?["balanced"] as? Bool == true)
        #expect(audit?["intended"] as? Int == 1)
        let steps = (report["timeline"] as? [[String: Any]])?.compactMap { $0["step"] as? String } ?? []
        #expect(steps.first == "invited")
        #expect(steps.last == "ended")
        #expect(
            Set(["push_sent", "push_accepted", "woken", "push_reported", "ringing", "connected"]).isSubset(of: steps))
    }
}
