import CallVocabulary
import Determinism
import Foundation
import SignalProtocol
import Testing

@Suite("The admin API's frames")
struct AdminRoundTripTests {
    private func frame(_ call: AdminCall) -> [UInt8] {
        var frame: [UInt8] = []
        AdminEncoder.encode(call, into: &frame)
        return frame
    }

    private func frame(_ answer: AdminAnswer) -> [UInt8] {
        var frame: [UInt8] = []
        AdminEncoder.encode(answer, into: &frame)
        return frame
    }

    private func read(call frame: [UInt8]) -> Result<AdminCall, DecodingFailure> {
        frame.withUnsafeBytes { AdminDecoder.decode(frame: $0) }
    }

    private func read(answer frame: [UInt8]) -> Result<AdminAnswer?, DecodingFailure> {
        frame.withUnsafeBytes { AdminDecoder.decode(serverFrame: $0) }
    }

    @Test("what a client asks is what the server reads", arguments: AdminSamples.commands)
    func commands(command: AdminCommand) throws {
        for id in [RequestID.number(.min), .string("\u{0}ä\"\\\n")] {
            let call = AdminCall(id: id, .command(command))
            _ = try JSONSerialization.jsonObject(with: Data(frame(call)))
            #expect(read(call: frame(call)) == .success(call))
        }
    }

    @Test("lists are asked for from a name on")
    func pages() {
        for command in [AdminCommand.listGroups, .listAliases] {
            let call = AdminCall(id: .number(1), .command(command, after: "\"sales"))
            #expect(read(call: frame(call)) == .success(call))
        }
    }

    @Test("each method is among the samples")
    func samplesAreComplete() {
        #expect(Set(AdminSamples.commands.map(\.method)) == Set(AdminMethod.allCases))
    }

    @Test("what the server answers is what the client reads", arguments: AdminSamples.answers)
    func answers(answer: AdminAnswer) throws {
        _ = try JSONSerialization.jsonObject(with: Data(frame(answer)))
        #expect(read(answer: frame(answer)) == .success(answer))
    }

    @Test("a refusal is a JSON-RPC error with the protocol's number and word")
    func refusals() {
        let numbers = AdminRefusal.Code.allCases.map(\.number)
        #expect(numbers == [-32003, -32009, -32602, -32010])
        #expect(
            String(
                decoding: frame(.refusal(.number(7), AdminRefusal(.notFound, "There is no group x."))), as: UTF8.self)
                == #"{"jsonrpc":"2.0","id":7,"error":{"code":-32003,"message":"There is no group x.","#
                + #""data":{"code":"not_found"}}}"#)
    }

    @Test("results have the members that the protocol names")
    func results() {
        #expect(
            String(decoding: frame(.reply(.number(1), .groups([AdminSamples.sales]), next: "sales")), as: UTF8.self)
                == #"{"jsonrpc":"2.0","id":1,"result":{"groups":[{"name":"sales","strategy":"hunt","#
                + #""members":["alice","+81312345678"]}],"next":"sales"}}"#)
        #expect(
            String(decoding: frame(.reply(.number(1), .aliases([AdminSamples.alias]))), as: UTF8.self)
                == #"{"jsonrpc":"2.0","id":1,"result":{"aliases":[{"alias":"+81312345678","user":"alice"}]}}"#)
        #expect(
            String(decoding: frame(.reply(.number(1), .user(AdminSamples.user))), as: UTF8.self)
                == #"{"jsonrpc":"2.0","id":1,"result":{"user":{"handle":"alice","call_waiting":false,"#
                + #""decline_policy":"device","do_not_disturb":true,"missed_calls":"alert","aliases":["+81312345678"],"#
                + #""groups":["sales","\"\\ä"],"devices":3,"devices_online":2,"live_calls":1}}}"#)
    }

    @Test("what a newer server adds is survived")
    func newerServer() {
        func answer(_ text: String) -> AdminAnswer?? { try? read(answer: Array(text.utf8)).get() }
        #expect(answer(#"{"jsonrpc":"2.0","method":"stats","params":{"seq":1}}"#) == .some(nil))
        #expect(answer(#"{"jsonrpc":"2.0","id":1,"result":{"done_at":1}}"#) == .reply(.number(1), .done))
        #expect(
            answer(#"{"jsonrpc":"2.0","id":1,"error":{"code":-32099,"message":"m","data":{"code":"tired"}}}"#)
                == .error(.number(1), SignalError(.internalError, "m")))
        #expect(
            answer(#"{"jsonrpc":"2.0","id":1,"error":{"code":-32003}}"#)
                == .error(.number(1), SignalError(.internalError, "")))
    }

    @Test("10,000 broken frames, from both sides, are refused with a reason or mean what is written again")
    func fuzz() {
        let seed: UInt64 = 0x5EED_0004
        var generator = SeededGenerator(seed: seed)
        let calls = AdminSamples.commands.map { frame(AdminCall(id: .number(1), .command($0))) }
        let answers = AdminSamples.answers.map(frame)
        var accepted = (0, 0)
        for number in 0..<10_000 {
            switch read(call: Mutation.mutate(calls, using: &generator)) {
            case .success(let call):
                accepted.0 += 1
                guard read(call: frame(call)) != .success(call) else { break }
                Issue.record("seed \(seed), case \(number): \(call)")
                return
            case .failure(let failure):
                guard failure.error.message.isEmpty else { break }
                Issue.record("seed \(seed), case \(number): \(failure)")
                return
            }
            guard case .success(let answer?) = read(answer: Mutation.mutate(answers, using: &generator)) else {
                continue
            }
            accepted.1 += 1
            guard read(answer: frame(answer)) != .success(answer) else { continue }
            Issue.record("seed \(seed), case \(number): \(answer)")
            return
        }
        #expect((200...9500).contains(accepted.0))
        #expect((200...9500).contains(accepted.1))
    }
}
