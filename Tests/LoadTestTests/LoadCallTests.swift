import CallVocabulary
import Determinism
import EventLoop
import SoftphoneKit
import Testing

@testable import LoadTest
@testable import SoftphoneSession

@Suite("A call of the load") struct LoadCallTests {
    /// What a call told, and what was recorded of it.
    private struct Outcome: Sendable {
        var told: [String] = []
        var stages: [LoadStage] = []
    }

    /// - Parameter events: what the callee is told of the call.
    private func outcome(_ events: @escaping @Sendable (CallID) -> [SoftphoneEvent]) async throws -> Outcome {
        let plan = LoadPlan(
            .online, pace: .closed(concurrency: 1), target: .own(LoadTarget.OwnServer(executable: "")))
        let tokens = try await LoadTokens.made()
        let runtime = try SoftphoneRuntime()
        return try await runtime.loop.result { done in
            let recorder = Recorder()
            recorder.schedule = LoadSchedule(plan, start: .now - .seconds(5))
            let environment = WorkloadEnvironment.alone(plan, runtime, tokens, recorder)
            var bits = SeededGenerator(seed: 3)
            var told: [String] = []
            done(
                Result {
                    let phones = try (0..<2).map { number in
                        try Softphone(
                            configuration: environment.phone(
                                environment.identity(ofUser: number), .cli, token: "t", seed: 1), runtime: runtime
                        ) { _, _ in }
                    }
                    let call = LoadCall(
                        id: CallID(random: &bits), caller: (0, phones[0]), callee: (1, [phones[1]]),
                        stages: LoadStage.allCases.filter { $0 != .lastTold }, environment: environment
                    ) { told.append("\($1)") }
                    for event in events(call.id) { call.deviceHappened(event) }
                    let stages = LoadStage.allCases.filter { recorder.result.stages[$0] != nil }
                    return Outcome(told: told, stages: stages)
                })
        }
    }

    private static func call(_ id: CallID, _ state: CallState, _ reason: EndReason? = nil) -> PhoneCall {
        var call = PhoneCall(id: id, role: .callee, state: state)
        call.reason = reason
        return call
    }

    @Test("that has failed is not answered, nor timed, when the callee hears of it later")
    func failed() async throws {
        let incoming = try await outcome { [.incoming(Self.call($0, .ringing), candidates: [])] }
        #expect(incoming.stages.contains(.inviteIncoming) && incoming.told.isEmpty)
        let failed = try await outcome {
            [.ended(Self.call($0, .ended, .busy)), .incoming(Self.call($0, .ringing), candidates: [])]
        }
        #expect(failed.told == [#"failed(reason: "ended: busy")"#])
        #expect(failed.stages.isEmpty)
    }
}
