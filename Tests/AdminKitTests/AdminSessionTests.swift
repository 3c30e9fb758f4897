import CallVocabulary
import SignalProtocol
import Synchronization
import Testing

@testable import AdminKit

@Suite("A session of the admin client")
struct AdminSessionTests {
    private typealias Outcome = Result<AdminSession.Page, AdminFailure>

    /// What has come of each request, by the name the test gave it.
    private final class Outcomes: Sendable {
        private let all = Mutex<[String: [Outcome]]>([:])

        subscript(_ name: String) -> [Outcome] { all.withLock { $0[name] ?? [] } }

        func completion(_ name: String) -> AdminSession.Completion {
            { outcome in self.all.withLock { $0[name, default: []].append(outcome) } }
        }
    }

    private let outcomes = Outcomes()
    private let list = AdminRequest.command(.listGroups)
    private let lost = AdminFailure.lost("gone")

    private func ids(_ frames: [[UInt8]]) throws -> [RequestID] {
        try frames.map { frame in try frame.withUnsafeBytes { try AdminDecoder.decode(frame: $0).get().id } }
    }

    private func give(_ answer: AdminAnswer, to session: inout AdminSession) {
        var frame: [UInt8] = []
        AdminEncoder.encode(answer, into: &frame)
        frame.withUnsafeBytes { session.received($0) }
    }

    @Test("what is asked before the connection is open goes out when it opens, in order, and later requests at once")
    func order() throws {
        var session = AdminSession(patience: .seconds(10))
        #expect(session.ask(list, now: .zero, outcomes.completion("a")) == [])
        #expect(session.ask(list, now: .zero, outcomes.completion("b")) == [])
        #expect(try ids(session.opened()) == [.number(1), .number(2)])
        #expect(session.opened() == [])
        #expect(try ids(session.ask(list, now: .zero, outcomes.completion("c"))) == [.number(3)])
        #expect(outcomes["a"] == [] && outcomes["b"] == [] && outcomes["c"] == [])
    }

    @Test("each answer goes to its request, in any order and once")
    func answers() throws {
        var session = AdminSession(patience: .seconds(10))
        _ = session.opened()
        for name in ["a", "b", "c", "d"] { _ = session.ask(list, now: .zero, outcomes.completion(name)) }
        let refusal = AdminRefusal(.notFound, "There is no such group.")
        give(.refusal(.number(2), refusal), to: &session)
        give(.reply(.number(1), .groups([]), next: "x"), to: &session)
        give(.reply(.number(1), .done), to: &session)
        give(.error(.number(3), SignalError(.methodNotFound, "m")), to: &session)
        // Nobody's.
        give(.error(nil, SignalError(.parseError, "m")), to: &session)
        give(.reply(.string("4"), .done), to: &session)
        give(.reply(.number(5), .done), to: &session)
        #expect(outcomes["a"] == [.success(AdminSession.Page(reply: .groups([]), next: "x"))])
        #expect(outcomes["b"] == [.failure(.refused(refusal))])
        #expect(outcomes["c"] == [.failure(.notTaken(SignalError(.methodNotFound, "m")))])
        #expect(outcomes["d"] == [])
    }

    @Test("an answer that cannot be read fails its request instead of leaving it waiting")
    func unreadable() {
        var session = AdminSession(patience: .seconds(10))
        _ = session.opened()
        _ = session.ask(list, now: .zero, outcomes.completion("a"))
        Array(#"{"jsonrpc":"2.0","id":1,"result":{"groups":7}}"#.utf8).withUnsafeBytes { session.received($0) }
        let error = SignalError(.invalidParams, "result.groups: expected a list; each element a group")
        #expect(outcomes["a"] == [.failure(.notTaken(error))])
        Array("no JSON".utf8).withUnsafeBytes { session.received($0) }
        #expect(session.nextDeadline == nil)
    }

    @Test("a request that is not answered in time fails alone; its late answer is nobody's")
    func timeouts() {
        var session = AdminSession(patience: .seconds(10))
        _ = session.ask(list, now: .zero, outcomes.completion("a"))
        _ = session.opened()
        _ = session.ask(list, now: .seconds(3), outcomes.completion("b"))
        #expect(session.nextDeadline == .seconds(10))
        session.lookAtDeadlines(now: .milliseconds(9_999))
        #expect(outcomes["a"] == [])
        session.lookAtDeadlines(now: .seconds(10))
        #expect(outcomes["a"] == [.failure(.timedOut)])
        #expect(outcomes["b"] == [])
        #expect(session.nextDeadline == .seconds(13))
        give(.reply(.number(1), .done), to: &session)
        give(.reply(.number(2), .done), to: &session)
        #expect(outcomes["a"] == [.failure(.timedOut)])
        #expect(outcomes["b"] == [.success(AdminSession.Page(reply: .done, next: nil))])
        #expect(session.nextDeadline == nil)
    }

    @Test(
        "the end of the connection fails what waits and what comes after, with the first reason",
        arguments: [true, false])
    func ending(isOpen: Bool) {
        var session = AdminSession(patience: .seconds(10))
        if isOpen { _ = session.opened() }
        _ = session.ask(list, now: .zero, outcomes.completion("a"))
        session.ended(lost)
        session.ended(.timedOut)
        #expect(outcomes["a"] == [.failure(lost)])
        #expect(session.ask(list, now: .zero, outcomes.completion("b")) == [])
        #expect(outcomes["b"] == [.failure(lost)])
        #expect(session.opened() == [])
        #expect(session.nextDeadline == nil)
    }
}
