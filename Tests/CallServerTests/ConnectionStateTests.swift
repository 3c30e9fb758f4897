import CallCore
import CallVocabulary
import Testing

@testable import CallServer

@Suite("The rate limits of a connection")
struct ConnectionStateTests {
    // The literal is a handle.
    private static let holder = ConnectionState.Holder(
        grant: SessionGrant(user: Handle("alice")!), device: DeviceID(high: 1, low: 1))

    /// A connection with a session, and its full allowance.
    private func opened() -> ConnectionState {
        let state = ConnectionState(now: Instant(milliseconds: 0))
        state.check(at: Instant(milliseconds: 0))
        state.handOver(Self.holder)
        let session = SessionOpened.plain
        #expect(state.note(.reply(.number(1), .opened(session))) != nil)
        return state
    }

    /// Sends `perSecond` frames a second, evenly spaced.
    /// - Returns: the number admitted, and the number after which it was closed for abuse; nil when it was not.
    private func flood(
        _ state: ConnectionState, perSecond: Int, seconds: Int, limits: ConnectionLimits = ConnectionLimits()
    ) -> (admitted: Int, closedAfter: Int?) {
        var admitted = 0
        for number in 0..<perSecond * seconds {
            let now = Instant(milliseconds: Int64(number) * 1000 / Int64(perSecond))
            switch state.admit(now: now, limits: limits) {
            case .admitted: admitted += 1
            case .refused: break
            case .abuse: return (admitted, number)
            }
        }
        return (admitted, nil)
    }

    @Test("of the time for an answer, a stop of the process takes one half at most, however short or long")
    func answerDue() {
        for stop: Int64 in [500, 1000, 5000] {
            let state = ConnectionState(now: Instant(milliseconds: 0))
            state.check(at: Instant(milliseconds: 0))
            let resumed = Instant(milliseconds: stop)
            #expect(state.answerDue(within: .seconds(1), at: resumed) == resumed + .milliseconds(500))
            #expect(
                state.answerDue(within: .seconds(1), at: resumed + .milliseconds(499)) == resumed + .milliseconds(500))
            #expect(state.answerDue(within: .seconds(1), at: resumed + .milliseconds(500)) == nil)
        }
    }

    @Test("a client within its limits is never refused, however long it sends")
    func within() {
        let (admitted, closed) = flood(opened(), perSecond: 100, seconds: 600)
        #expect(admitted == 60_000 && closed == nil)
    }

    @Test("a client slightly above the limit is sometimes refused, and never closed")
    func slightlyMore() {
        let (admitted, closed) = flood(opened(), perSecond: 110, seconds: 600)
        #expect(admitted < 66_000 && closed == nil)
    }

    @Test(
        "a flood is closed, although some of its messages are admitted",
        arguments: [(150, 60), (200, 20), (1_000, 3), (20_000, 1)])
    func flood(_ perSecond: Int, _ within: Int) throws {
        let (admitted, closed) = flood(opened(), perSecond: perSecond, seconds: 600)
        let after = try #require(closed)
        #expect(after < perSecond * within)
        #expect(admitted <= 400 + 100 * within)
    }

    @Test("before its session a client may send the frames to open one, and is closed after twice as many")
    func unopened() throws {
        let (admitted, closed) = flood(ConnectionState(now: Instant(milliseconds: 0)), perSecond: 1_000, seconds: 10)
        #expect(admitted == 20)
        #expect(try #require(closed) <= 45)
    }

    @Test("a session begins with its full allowance, whatever came before")
    func opensAfresh() {
        let state = ConnectionState(now: Instant(milliseconds: 0))
        let now = Instant(milliseconds: 0)
        for _ in 0..<30 { _ = state.admit(now: now, limits: ConnectionLimits()) }
        state.check(at: Instant(milliseconds: 0))
        state.handOver(Self.holder)
        _ = state.note(.reply(.number(1), .opened(SessionOpened.plain)))
        for _ in 0..<400 { #expect(state.admit(now: now, limits: ConnectionLimits()) == .admitted) }
        if case .refused(let wait) = state.admit(now: now, limits: ConnectionLimits()) {
            #expect(wait == .milliseconds(10))
        } else {
            Issue.record("the burst has no end")
        }
    }

    @Test("only the answer to session.open changes the phase, and the core is told of the end after any valid token")
    func answers() {
        let state = ConnectionState(now: Instant(milliseconds: 0))
        let refusal = SignalError(.internalError, "")
        func isIgnored(_ message: ServerMessage) -> Bool {
            let before = state.phase
            return state.note(message) == nil && state.phase == before
        }
        #expect(!state.isKnownToCore && isIgnored(.error(.number(1), refusal)))
        state.check(at: Instant(milliseconds: 0))
        #expect(!state.isKnownToCore && isIgnored(.reply(.number(1), .opened(SessionOpened.plain))))
        state.handOver(Self.holder)
        #expect(isIgnored(.reply(.number(1), .done)) && isIgnored(.error(nil, refusal)) && !state.isOpen)
        #expect(state.note(.error(.number(1), refusal)) != nil && state.phase == .refused(Self.holder))
        // Another token is being checked, and would be refused.
        state.check(at: Instant(milliseconds: 0))
        #expect(state.holder == nil && state.isKnownToCore && isIgnored(.error(.number(1), refusal)))
        state.handOver(Self.holder)
        #expect(state.note(.reply(.number(1), .opened(SessionOpened.plain))) != nil && state.isOpen)
        #expect(isIgnored(.error(.number(1), refusal)) && state.isKnownToCore)
    }

    @Test("a lower configured limit also applies before the session")
    func lower() {
        var limits = ConnectionLimits()
        (limits.messagesPerSecond, limits.burst, limits.refusalsUntilAbuse) = (1, 3, 2)
        #expect(limits.beforeSession == limits)
        #expect(
            flood(ConnectionState(now: Instant(milliseconds: 0)), perSecond: 1_000, seconds: 1, limits: limits).admitted
                == 3)
    }
}

extension SessionOpened {
    /// A session without calls.
    fileprivate static var plain: SessionOpened {
        SessionOpened(
            // The literal is a handle.
            session: SessionID(high: 1, low: 2), user: Handle("alice")!, resumeToken: "r", resumeWindow: .seconds(30),
            resumed: false, calls: [], missed: [])
    }
}
