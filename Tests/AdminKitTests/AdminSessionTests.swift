import AdminProtocol
import CallVocabulary
import Synchronization
import Testing

@testable import AdminKit

@Suite("A session of the admin client")
struct AdminSessionTests {
    private typealias Outcome = Result<String, AdminFailure>

    /// What has come of each request, by the name the test gave it.
    private final class Outcomes: Sendable {
        private let all = Mutex<[String: [Outcome]]>([:])

        subscript(_ name: String) -> [Outcome] { all.withLock { $0[name] ?? [] } }

        func completion(_ name: String) -> AdminSession.Completion {
            { outcome in
                self.all.withLock {
                    $0[name, default: []].append(outcome.map { String(decoding: $0, as: UTF8.self) })
                }
            }
        }
    }

    private let outcomes = Outcomes()
    private let list = ListGroups()
    private let lost = AdminFailure.lost("gone")

    private func ids(_ frames: [[UInt8]]) throws -> [RequestID] {
        try frames.map { frame in try frame.withUnsafeBytes { try AdminFrameReader.call($0).get().id } }
    }

    private func give(_ frame: [UInt8], to session: inout AdminSession) {
        frame.withUnsafeBytes { session.received($0) }
    }

    /// An empty page, which tells which it is.
    private func page(_ id: Int64, _ next: String = "x") -> [UInt8] {
        AdminFrameWriter.result(id: .number(id), AdminPage<GroupView>(items: [], next: next))
    }

    private func text(_ frame: [UInt8]) -> String { String(decoding: frame, as: UTF8.self) }

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
        give(AdminFrameWriter.error(id: .number(2), AdminError(refusal)), to: &session)
        give(page(1), to: &session)
        give(page(1, "again"), to: &session)
        let unknown = AdminError(SignalError(.methodNotFound, "m"))
        give(AdminFrameWriter.error(id: .number(3), unknown), to: &session)
        // Nobody's.
        give(AdminFrameWriter.error(id: nil, AdminError(SignalError(.parseError, "m"))), to: &session)
        give(AdminFrameWriter.result(id: .string("4"), Done()), to: &session)
        give(page(5), to: &session)
        give(Array("no JSON".utf8), to: &session)
        #expect(outcomes["a"] == [.success(text(page(1)))])
        #expect(outcomes["b"] == [.failure(.refused(refusal))])
        #expect(outcomes["c"] == [.failure(.notTaken(unknown))])
        #expect(outcomes["d"] == [])
    }

    @Test("a listener hears its own notifications from the result on, in order, and the end once")
    func listening() {
        var session = AdminSession(patience: .seconds(10))
        _ = session.opened()
        let notification = { (subscription: Int, serial: UInt64) in
            AdminFrameWriter.notification(
                of: .callSubscribe,
                CallsChanged(
                    subscription: subscription, calls: [], gone: [CallID(high: 1, low: serial)], isComplete: true))
        }
        _ = session.ask(
            SubscribeToCalls(), now: .zero, listener: outcomes.completion("heard"), outcomes.completion("asked"))
        give(notification(7, 1), to: &session)
        #expect(outcomes["heard"] == [])
        give(AdminFrameWriter.result(id: .number(1), SubscriptionStarted(subscription: 7)), to: &session)
        #expect(outcomes["asked"].count == 1)
        give(notification(7, 2), to: &session)
        give(notification(8, 3), to: &session)
        give(notification(7, 4), to: &session)
        session.ended(lost)
        session.ended(.timedOut)
        give(notification(7, 5), to: &session)
        #expect(
            outcomes["heard"]
                == [.success(text(notification(7, 2))), .success(text(notification(7, 4))), .failure(lost)])
    }

    @Test("a subscription that is refused is never listened to")
    func refusedSubscription() {
        var session = AdminSession(patience: .seconds(10))
        _ = session.opened()
        _ = session.ask(
            SubscribeToStats(), now: .zero, listener: outcomes.completion("heard"), outcomes.completion("asked"))
        let refusal = AdminRefusal(.invalidParams, "no")
        give(AdminFrameWriter.error(id: .number(1), AdminError(refusal)), to: &session)
        session.ended(lost)
        #expect(outcomes["asked"] == [.failure(.refused(refusal))])
        #expect(outcomes["heard"] == [])
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
        give(page(1), to: &session)
        give(page(2), to: &session)
        #expect(outcomes["a"] == [.failure(.timedOut)])
        #expect(outcomes["b"] == [.success(text(page(2)))])
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
