import ByteMutation
import CallVocabulary
import RecordModel
import Testing

@testable import CallCore

@Suite("The claims of a token that limit calls") final class CallAllowanceTests {
    let (world, alice, bob) = World.pair(bobIsAsleep: false)

    private func reopen(_ phone: Phone, _ allowance: CallAllowance) {
        phone.allowance = allowance
        #expect(phone.open().code == nil)
    }

    private func invite(_ to: CallTarget) -> Result<Reply, SignalError> {
        let call = world.newCall()
        let answer = alice.ask(.invite(Invite(call: call, to: to)))
        if answer.code == nil { alice.hangUp(call) }
        return answer
    }

    /// `#sales` is a group, `bob carol` a list.
    private func target(_ text: String) -> CallTarget {
        if text.hasPrefix("#") { return .group(String(text.dropFirst())) }
        let users = text.split(separator: " ").compactMap { Handle(String($0)) }
        return users.count == 1 ? .user(users[0]) : .users(users)
    }

    @Test(
        "a user may call the handles and groups in call_to, and those that start with a prefix in it",
        arguments: [
            (nil, ["bob", "bob carol", "#sales"], [:]), ([], [], ["bob": "bob", "#sales": "sales"]),
            (
                ["bob", "+49*"], ["bob", "+4930", "+49", "bob +4940"],
                ["bobby": "bobby", "bo": "bo", "+4": "+4", "+1": "+1", "bob carol dave": "carol", "#bob2": "bob2"]
            ),
            (["*"], ["bob", "#sales"], [:]), (["a*b"], ["a*b"], ["axb": "axb"]),
        ] as [([String]?, [String], [String: String])])
    func targets(allowed: [String]?, good: [String], bad: [String: String]) {
        reopen(alice, CallAllowance(targets: allowed))
        for callees in good { #expect(invite(target(callees)).error?.code != .forbidden, "\(callees)") }
        let shown = allowed?.isEmpty == true ? "nobody" : allowed?.joined(separator: ", ") ?? ""
        for (callees, callee) in bad {
            #expect(
                invite(target(callees)).error
                    == SignalError(
                        .forbidden, "The token's call_to does not allow \(callee); it allows \(shown)."))
        }
    }

    @Test("a long call_to and a long list are compared in time for both, not for their product")
    func longLists() {
        let handles = (0..<1000).map { "user\($0)" }
        let allowance = CallAllowance(targets: handles.map { $0 + "x" } + (0..<100).map { "number\($0)*" } + handles)
        let target = CallTarget.users(handles.compactMap { Handle($0) })
        let times = (0..<5).map { _ in
            WorstInput.processorTime { #expect(allowance.firstExcluded(of: target) == nil) }
        }
        #expect(times.min() ?? .zero < .milliseconds(100))
    }

    @Test("calls_per_minute counts the calls of all devices of a user; a refusal says when the next call is allowed")
    func rate() throws {
        let limit = CallAllowance(callsPerMinute: 3)
        reopen(alice, limit)
        for _ in 0..<3 { #expect(invite(.user(bob.user)).code == nil) }
        let error = try #require(invite(.user(bob.user)).error)
        #expect(error.code == .rateLimited(retryAfter: .seconds(20)))
        #expect(error.message == "The token's calls_per_minute is 3; call again in 20 s.")
        // A new session spends the same minute.
        reopen(alice, limit)
        #expect(invite(.user(bob.user)).error?.code == .rateLimited(retryAfter: .seconds(20)))
        world.advance(.seconds(20))
        #expect(invite(.user(bob.user)).code == nil)
        #expect(invite(.user(bob.user)).code != nil)
        // Calls to the user are not placed by the user.
        #expect(bob.ask(.invite(Invite(call: world.newCall(), to: .user(alice.user)))).code == nil)
    }

    @Test("a resumed session has the limits of the token that resumed it; a repeated invite does not count")
    func resumed() {
        reopen(alice, CallAllowance(callsPerMinute: 1))
        let invite = Invite(call: world.newCall(), to: .user(bob.user))
        for _ in 0..<3 { #expect(alice.ask(.invite(invite)).code == nil) }
        alice.hangUp(invite.call)
        alice.lose()
        alice.allowance = CallAllowance(targets: [])
        #expect(alice.resume().code == nil)
        #expect(self.invite(.user(bob.user)).error?.code == .forbidden)
    }
}
