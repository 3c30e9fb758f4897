import AdminProtocol
import CallCore
import CallVocabulary
import Foundation
import Testing

@testable import CallMonitor

@Suite("Watching calls")
struct SubscriptionTests {
    private static let key = SubscriptionKey(connection: 1, number: 1)

    /// All that there is to tell now.
    private static func drain(
        _ monitor: CallMonitor, _ key: SubscriptionKey, _ now: Instant, _ body: (CallsChanged) -> Void
    ) {
        for _ in 0..<100_000 {
            switch monitor.step(key, now: now) {
            case .idle: return
            case .more: continue
            case .notification(let frame): body(frame)
            }
        }
        Issue.record("it goes on for ever")
    }

    private static func matching(_ views: [CallID: CallView], _ calls: RandomCalls, _ user: Handle?) -> [CallID:
        CallView]
    {
        guard let user else { return views }
        return views.filter { id, view in
            let legs = calls.calls[id]?.legs ?? []
            let isCalled =
                switch view.to.target {
                case .user(let callee): callee == user
                case .users(let callees): callees.contains(user)
                case .group: false
                }
            return view.from == user || isCalled || legs.contains { $0.device.user == user }
        }
    }

    @Test(
        "what watchers are told makes the live calls exactly, whatever happens, whoever is slow", arguments: 1...40)
    func differential(seed: Int) {
        var calls = RandomCalls(seed: UInt64(seed))
        // Few endings are kept in every second run, so that the slow ones lose track.
        let keepsFew = seed.isMultiple(of: 2)
        let monitor = CallMonitor(now: calls.now, keptEndings: keepsFew ? 16 : CallMonitor.keptEndings)
        var watchers: [SubscriptionKey: (watcher: Watcher, user: Handle?, pace: Int)] = [:]
        var left: [SubscriptionKey] = []
        var batches: [[StoreRecord]] = []
        for round in 0..<600 {
            if round % 40 == 0 {
                let key = SubscriptionKey(connection: UInt64(round % 3), number: round)
                let user = calls.below(2) == 0 ? nil : RandomCalls.users[calls.below(4)]
                watchers[key] = (Watcher(), user, 1 + calls.below(60))
                monitor.subscribe(key, user: user, interval: .milliseconds(calls.below(400)), now: calls.now)
            }
            if calls.below(150) == 0, let key = watchers.keys.sorted(by: { $0.number < $1.number }).first {
                monitor.unsubscribe(key)
                watchers[key] = nil
                left.append(key)
            }
            let batch = calls.batch(mostLive: 60)
            batches.append(batch)
            // Sometimes a batch is lost, and the picture loaded anew. What it has already may come once more, in order.
            if calls.below(100) == 0 {
                monitor.reset(with: calls.recovered)
                for late in batches.suffix(calls.below(5)) { monitor.apply(late, now: calls.now) { _ in } }
                calls.forgetPast()
            } else {
                let repeats = keepsFew ? [] : calls.repeats()
                monitor.apply(batch + repeats, now: calls.now) { _ in }
            }
            for key in watchers.keys.sorted(by: { $0.number < $1.number }) where calls.below(watchers[key]!.pace) == 0 {
                if case .notification(let frame) = monitor.step(key, now: calls.now) {
                    watchers[key]!.watcher.take(frame)
                }
            }
        }
        calls.pass(.seconds(60))
        for key in left { #expect(monitor.step(key, now: calls.now) == .idle) }
        for (key, (told, user, _)) in watchers {
            var watcher = told
            Self.drain(monitor, key, calls.now) { watcher.take($0) }
            #expect(watcher.calls == Self.matching(calls.liveViews, calls, user))
            #expect(watcher.isComplete)
            if watcher.resets == 0 { #expect(Set(watcher.ends).count == watcher.ends.count, "an end is told once") }
        }
        #expect(monitor.waitingSubscriptions.isEmpty)
    }

    /// One call after the other, each alone in the monitor.
    private func oneCall() -> (RandomCalls, CallMonitor, CallRecord) {
        let calls = RandomCalls(seed: 1)
        let monitor = CallMonitor(now: calls.now)
        let record = CallRecord(
            id: CallID(high: 1, low: 1), caller: Party(user: RandomCalls.users[0]), callerName: nil,
            to: .user(RandomCalls.users[1]), video: false, inviteDigest: 0, state: .routing, createdAt: calls.now,
            ringsUntil: calls.now)
        return (calls, monitor, record)
    }

    @Test("several changes within an interval come as one, and not before it is over")
    func coalescing() throws {
        var (calls, monitor, record) = oneCall()
        monitor.subscribe(Self.key, user: nil, interval: .milliseconds(250), now: calls.now)
        guard case .notification(let first) = monitor.step(Self.key, now: calls.now) else {
            Issue.record("an empty picture is told too")
            return
        }
        #expect(first.calls.isEmpty && first.isComplete && !first.isReset)
        for state in [CallState.routing, .waking, .ringing] {
            record.state = state
            monitor.apply([.call(record)], now: calls.now) { _ in }
        }
        #expect(monitor.step(Self.key, now: calls.now) == .idle)
        #expect(monitor.waitingSubscriptions.map(\.from) == [calls.now + .milliseconds(250)])
        calls.pass(.milliseconds(250))
        guard case .notification(let frame) = monitor.step(Self.key, now: calls.now) else {
            Issue.record("nothing came")
            return
        }
        #expect(frame.calls.map(\.state) == [.ringing] && frame.gone.isEmpty && frame.isComplete)
        #expect(monitor.step(Self.key, now: calls.now + .seconds(9)) == .idle)
    }

    @Test("an end is told once with its reason, and the call is gone with it")
    func end() {
        var (calls, monitor, record) = oneCall()
        monitor.apply([.call(record)], now: calls.now) { _ in }
        monitor.subscribe(Self.key, user: nil, interval: .zero, now: calls.now)
        Self.drain(monitor, Self.key, calls.now) { #expect($0.calls.count == 1) }
        record.state = .ended
        record.endReason = .hangup
        // It comes twice.
        for _ in 0..<2 { monitor.apply([.call(record)], now: calls.now) { _ in } }
        calls.pass(.milliseconds(1))
        var frames: [CallsChanged] = []
        Self.drain(monitor, Self.key, calls.now) { frames.append($0) }
        #expect(frames.map(\.gone) == [[record.id]])
        #expect(frames.first?.calls.map(\.reason) == [.hangup])
        #expect(monitor.liveCalls == 0)
    }

    @Test("a watcher that misses more endings than are kept begins anew")
    func slow() {
        var calls = RandomCalls(seed: 3)
        let monitor = CallMonitor(now: calls.now, keptEndings: 4)
        monitor.subscribe(Self.key, user: nil, interval: .zero, now: calls.now)
        var watcher = Watcher()
        Self.drain(monitor, Self.key, calls.now) { watcher.take($0) }
        var ended = 0
        while ended <= 4 {
            monitor.apply(calls.batch(mostLive: 10), now: calls.now) {
                if case .call(let call, _) = $0, call.state == .ended { ended += 1 }
            }
        }
        Self.drain(monitor, Self.key, calls.now) { watcher.take($0) }
        #expect(watcher.resets == 1 && watcher.ends.isEmpty && watcher.isComplete)
        #expect(watcher.calls == calls.liveViews)
    }

    @Test("the first picture of thousands of calls comes in frames that fit, the longest names in them")
    func frames() throws {
        let calls = RandomCalls(seed: 1)
        let monitor = CallMonitor(now: calls.now)
        // Each byte of them takes two in a frame.
        let user = try #require(Handle(String(repeating: "\\", count: Handle.longest)))
        var records: [StoreRecord] = []
        for number in 1...2000 {
            var call = CallRecord(
                id: CallID(high: 7, low: UInt64(number)), caller: Party(user: user, device: DeviceID(high: 1, low: 1)),
                callerName: String(repeating: "\u{1}", count: 100),
                to: .users(Array(repeating: user, count: number % 32)),
                video: true, inviteDigest: 0, state: .connected, createdAt: calls.now, ringsUntil: calls.now)
            call.ringingAt = calls.now
            call.answeredAt = calls.now
            call.connectedAt = calls.now
            call.answeredBy = call.caller
            records.append(.call(call))
        }
        monitor.apply(records, now: calls.now) { _ in }
        monitor.subscribe(Self.key, user: nil, interval: .seconds(1), now: calls.now)
        var frames: [CallsChanged] = []
        Self.drain(monitor, Self.key, calls.now) { frames.append($0) }
        #expect(frames.dropLast().allSatisfy { !$0.isComplete } && frames.last?.isComplete == true)
        #expect(frames.reduce(0) { $0 + $1.calls.count } == 2000)
        for frame in frames {
            let bytes = AdminFrameWriter.notification(of: .callSubscribe, frame).count
            #expect(bytes < AdminEndpoint.longestFrame * 3 / 5)
        }
    }

    @Test("calls of few letters come five hundred to a frame at most")
    func shortCalls() {
        var room = FrameRoom()
        let (_, _, record) = oneCall()
        var count = 0
        while room.take(record) { count += 1 }
        #expect(count <= FrameRoom.mostCalls && count > 200)
    }
}
