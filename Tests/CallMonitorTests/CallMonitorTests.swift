import AdminProtocol
import CallCore
import CallVocabulary
import Determinism
import Testing

@testable import CallMonitor

@Suite("The live picture")
struct CallMonitorTests {
    /// All pages of the live calls.
    private static func list(_ monitor: CallMonitor, _ request: ListCalls) throws -> [CallView] {
        var (request, calls) = (request, [CallView]())
        for _ in 0..<10_000 {
            let page = try monitor.page(request)
            calls += page.items
            guard let next = page.next else { return calls }
            request.after = next
        }
        Issue.record("the pages go on for ever")
        return calls
    }

    @Test(
        "the lists and the counts are those of the live calls, and records that come again change nothing",
        arguments: 1...20)
    func recount(seed: Int) throws {
        var calls = RandomCalls(seed: UInt64(seed))
        let monitor = CallMonitor(now: calls.now)
        for round in 0..<300 {
            monitor.apply(calls.batch(mostLive: 40) + calls.repeats(), now: calls.now) { _ in }
            guard round.isMultiple(of: 30) else { continue }
            let live = calls.liveViews
            let all = try Self.list(monitor, ListCalls(live: true, limit: 7))
            #expect(Dictionary(uniqueKeysWithValues: all.map { ($0.callID, $0) }) == live)
            #expect(all.map(\.createdAt) == all.map(\.createdAt).sorted(by: >))
            #expect(monitor.liveCalls == live.count)
            let states = monitor.recentCalls(now: calls.now).live
            #expect(states == Dictionary(grouping: live.values, by: \.state).mapValues(\.count))
            let ringing = try Self.list(monitor, ListCalls(live: true, state: .ringing, limit: 3))
            #expect(ringing.count == live.values.count { $0.state == .ringing })
        }
    }

    @Test("the last minute's ends and the rates of ten seconds are what a recount gives", arguments: 1...10)
    func rates(seed: Int) {
        var calls = RandomCalls(seed: UInt64(seed))
        let monitor = CallMonitor(now: calls.now)
        var invited: [Instant] = []
        var ended: [(Instant, EndReason)] = []
        for _ in 0..<400 {
            calls.pass(.milliseconds(calls.below(1200)))
            monitor.apply(calls.batch(mostLive: 20), now: calls.now) { step in
                guard case .call(let call, let was) = step else { return }
                if was == nil { invited.append(calls.now) }
                if let reason = call.endReason { ended.append((calls.now, reason)) }
            }
        }
        func isWithin(_ seconds: Int64, _ at: Instant) -> Bool {
            (calls.now.wholeSeconds - seconds..<calls.now.wholeSeconds).contains(at.wholeSeconds)
        }
        let recent = monitor.recentCalls(now: calls.now)
        #expect(recent.invitedPerSecond == Double(invited.count { isWithin(10, $0) }) / 10)
        #expect(recent.endedPerSecond == Double(ended.count { isWithin(10, $0.0) }) / 10)
        let lastMinute = ended.filter { isWithin(60, $0.0) }
        #expect(recent.endedLastMinute == Dictionary(grouping: lastMinute, by: \.1).mapValues(\.count))
        #expect(monitor.recentCalls(now: calls.now + .seconds(3600)).endedLastMinute.isEmpty)
    }

    @Test("each step is told once, with what was before it", arguments: 1...10)
    func transitions(seed: Int) {
        var calls = RandomCalls(seed: UInt64(seed))
        let monitor = CallMonitor(now: calls.now)
        var states: [CallID: CallState] = [:]
        var legs: [PushID: LegRecord.State] = [:]
        var pushes: [PushID: PushStanding] = [:]
        for _ in 0..<300 {
            monitor.apply(calls.batch(mostLive: 20) + calls.repeats(), now: calls.now) { step in
                switch step {
                case .call(let call, let was):
                    #expect(was == states[call.id] && was != call.state)
                    states[call.id] = call.state
                case .leg(let leg, let was):
                    #expect(was == legs[leg.push] && was != leg.state)
                    legs[leg.push] = leg.state
                case .push(let push, let was):
                    let standing = PushStanding(status: push.status, report: push.report)
                    #expect(was == pushes[push.id] && was != standing)
                    pushes[push.id] = standing
                case .deviceSuspended, .deviceResumed: Issue.record("no device changes here")
                }
            }
        }
        #expect(states == calls.calls.mapValues(\.call.state), "also of calls that are over")
        for stored in calls.calls.values {
            for leg in stored.legs { #expect(legs[leg.push] == leg.state) }
            for push in stored.pushes {
                #expect(pushes[push.id] == PushStanding(status: push.status, report: push.report))
            }
        }
    }

    private static func push(_ purpose: PushPurpose, call: CallID = CallID(high: 1, low: 1)) -> PushRecord {
        let token = PushToken(
            provider: .apns, kind: .voip, environment: .sandbox, topic: "org.example.phone.voip", token: "00")
        let device = DeviceKey(user: RandomCalls.users[0], device: DeviceID(high: 1, low: 1))
        return PushRecord(
            id: PushID(high: 2, low: 2), purpose: purpose, call: call, device: device, token: token,
            intendedAt: Instant(milliseconds: 5), expiresAt: Instant(milliseconds: 90))
    }

    @Test("a push that outlives its call is followed until it is closed, also after a reset")
    func strays() {
        let now = Instant(milliseconds: 1000)
        let monitor = CallMonitor(now: now)
        var push = Self.push(.call)
        push.status = .sent
        push.sentAt = now
        push.report = .awaited
        var state = RecoveredState()
        var call = CallRecord(
            id: push.call, caller: Party(user: RandomCalls.users[1]), callerName: nil, to: .group("sales"),
            video: false, inviteDigest: 0, state: .ended, createdAt: now, ringsUntil: now)
        call.endReason = .hangup
        state.calls = [call]
        state.pushes = [push]
        state.legs = [
            LegRecord(call: call.id, device: push.device, push: push.id, state: .ended, createdAt: now)
        ]
        monitor.reset(with: state)
        #expect(monitor.liveCalls == 0)
        var steps: [Transition] = []
        push.status = .accepted
        push.answeredAt = now
        monitor.apply([.push(push), .push(push)], now: now) { steps.append($0) }
        push.report = .unreported
        push.reportedAt = now
        monitor.apply([.push(push)], now: now) { steps.append($0) }
        #expect(monitor.picture.strays.isEmpty)
        push.report = .reportedLate
        monitor.apply([.push(push)], now: now) { steps.append($0) }
        let was: [PushStanding?] = steps.map { step in
            if case .push(_, let was) = step { was } else { nil }
        }
        #expect(
            was == [
                PushStanding(status: .sent, report: .awaited), PushStanding(status: .accepted, report: .awaited),
                PushStanding(status: .accepted, report: .unreported),
            ])
    }

    @Test("a push about a missed call is followed though its call is over")
    func notices() {
        let now = Instant(milliseconds: 1000)
        let monitor = CallMonitor(now: now)
        var push = Self.push(.missedCall)
        var steps = 0
        monitor.apply([.push(push)], now: now) { _ in steps += 1 }
        push.status = .cancelled
        push.answeredAt = now
        monitor.apply([.push(push), .push(push)], now: now) { step in
            steps += 1
            #expect(step == .push(push, was: PushStanding(status: .intended, report: nil)))
        }
        #expect(steps == 2 && monitor.picture.strays.isEmpty)
    }

    @Test(
        "each stage of a call is timed once, also when its records come twice, and when its report is late",
        arguments: [ReportStatus.reported, .reportedLate])
    func stages(_ report: ReportStatus) {
        func at(_ milliseconds: Int64) -> Instant { Instant(milliseconds: 1_800_000_000_000 + milliseconds) }
        let monitor = CallMonitor(now: at(0))
        var call = CallRecord(
            id: CallID(high: 1, low: 1), caller: Party(user: RandomCalls.users[1]), callerName: nil,
            to: .group("sales"), video: false, inviteDigest: 0, state: .routing, createdAt: at(0),
            ringsUntil: at(45_000))
        var push = Self.push(.call)
        push.intendedAt = at(10)
        var leg = LegRecord(call: call.id, device: push.device, push: push.id, state: .waking, createdAt: at(10))
        func feed(_ record: StoreRecord) {
            for _ in 0..<2 { monitor.apply([record], now: at(2000)) { _ in } }
        }
        feed(.call(call))
        feed(.leg(leg))
        feed(.push(push))
        push.status = .sent
        push.sentAt = at(30)
        push.report = .awaited
        feed(.push(push))
        leg.wokenAt = at(60)
        feed(.leg(leg))
        push.status = .accepted
        push.answeredAt = at(80)
        feed(.push(push))
        push.report = report
        push.reportedAt = at(90)
        feed(.push(push))
        (call.state, call.ringingAt) = (.ringing, at(100))
        feed(.call(call))
        (call.state, call.answeredAt) = (.answered, at(1100))
        feed(.call(call))
        (call.state, call.connectedAt) = (.connected, at(1300))
        feed(.call(call))
        let stages = monitor.stages.lastMinute(now: at(2000))
        #expect(stages.map(\.count) == Array(repeating: 1, count: CallStage.allCases.count))
        let longest = Dictionary(uniqueKeysWithValues: stages.map { ($0.stage, $0.maxMilliseconds) })
        #expect(
            longest == [
                .inviteToRinging: 100, .ringingToAnswer: 1000, .answerToConnected: 200, .pushIntendedToSent: 20,
                .pushSentToAnswered: 50, .pushSentToWoken: 30, .pushSentToReported: 60,
            ])
    }

    @Test("a device's suspension and its end are each told once")
    func suspensions() {
        let now = Instant(milliseconds: 1000)
        let monitor = CallMonitor(now: now)
        var device = DeviceRecord(
            key: DeviceKey(user: RandomCalls.users[0], device: DeviceID(high: 1, low: 1)), platform: .ios, app: nil,
            name: nil, tokens: [], seenAt: now, unreportedStreak: 3, suspendedAt: now)
        var state = RecoveredState()
        state.suspended = [device.key]
        monitor.reset(with: state)
        var steps: [Transition] = []
        monitor.apply([.device(device)], now: now) { steps.append($0) }
        let suspendedDevice = device
        device.suspendedAt = nil
        monitor.apply([.device(device), .device(device), .device(suspendedDevice)], now: now) { steps.append($0) }
        #expect(steps == [.deviceResumed(device), .deviceSuspended(suspendedDevice)])
    }

    @Test("loaded anew, the picture knows of no suspension but those that it was loaded with")
    func forgottenSuspensions() {
        let now = Instant(milliseconds: 1000)
        let monitor = CallMonitor(now: now)
        func device(_ number: UInt64, suspendedAt: Instant?) -> DeviceRecord {
            DeviceRecord(
                key: DeviceKey(user: RandomCalls.users[0], device: DeviceID(high: 1, low: number)), platform: .ios,
                app: nil, name: nil, tokens: [], seenAt: now, unreportedStreak: 3, suspendedAt: suspendedAt)
        }
        var steps: [Transition] = []
        monitor.apply([.device(device(1, suspendedAt: now)), .device(device(2, suspendedAt: now))], now: now) { _ in }
        // The first one was resumed, and the second deleted, in batches that were lost.
        var state = RecoveredState()
        state.suspended = [device(3, suspendedAt: now).key]
        monitor.reset(with: state)
        monitor.apply([.device(device(1, suspendedAt: nil)), .device(device(3, suspendedAt: now))], now: now) {
            steps.append($0)
        }
        #expect(steps == [])
        let again = [device(1, suspendedAt: now), device(2, suspendedAt: now)]
        monitor.apply(again.map { .device($0) }, now: now) { steps.append($0) }
        #expect(steps == again.map { .deviceSuspended($0) })
    }

    @Test func `steps that come as one record are told one by one`() {
        let now = Instant(milliseconds: 1000)
        let monitor = CallMonitor(now: now)
        let device = DeviceKey(user: RandomCalls.users[0], device: DeviceID(high: 1, low: 1))
        var call = CallRecord(
            id: CallID(high: 1, low: 1), caller: Party(user: RandomCalls.users[1]), callerName: nil,
            to: .user(device.user), video: false, inviteDigest: 0, state: .waking, createdAt: now, ringsUntil: now)
        var leg = LegRecord(
            call: call.id, device: device, push: PushID(high: 2, low: 2), state: .waking, createdAt: now)
        var steps: [String] = []
        func apply(_ records: [StoreRecord]) {
            monitor.apply(records, now: now) { step in
                switch step {
                case .call(let call, let was): steps.append("call \(was?.rawValue ?? "-") \(call.state.rawValue)")
                case .leg(let leg, let was): steps.append("leg \(was?.rawValue ?? "-") \(leg.state.rawValue)")
                case .push, .deviceSuspended, .deviceResumed: Issue.record("nothing of the kind")
                }
            }
        }
        apply([.call(call), .leg(leg)])
        #expect(steps == ["call - routing", "call routing waking", "leg - idle", "leg idle waking"])
        steps = []
        (call.state, call.ringingAt, call.answeredAt) = (.connected, now, now)
        (call.callerConnectedAt, call.calleeConnectedAt, call.connectedAt) = (now, now, now)
        (leg.state, leg.offeredAt, leg.ringingAt, leg.answeredAt) = (.answered, now, now, now)
        apply([.call(call), .leg(leg)])
        #expect(
            steps == [
                "call waking ringing", "call ringing answered", "call answered connected", "leg waking offered",
                "leg offered ringing", "leg ringing answered",
            ])
        #expect(monitor.recentCalls(now: now).live == [.connected: 1])
    }

    /// The steps of a leg that are told of its records, each given by itself.
    private static func steps(of states: [(inout LegRecord) -> Void]) -> [String] {
        let now = Instant(milliseconds: 1000)
        let monitor = CallMonitor(now: now)
        let device = DeviceKey(user: RandomCalls.users[0], device: DeviceID(high: 1, low: 1))
        let call = CallRecord(
            id: CallID(high: 1, low: 1), caller: Party(user: RandomCalls.users[1]), callerName: nil,
            to: .group("sales"), video: false, inviteDigest: 0, state: .routing, createdAt: now, ringsUntil: now)
        var leg = LegRecord(call: call.id, device: device, push: PushID(high: 2, low: 2), state: .idle, createdAt: now)
        var steps: [String] = []
        monitor.apply([.call(call)], now: now) { _ in }
        for change in states {
            change(&leg)
            monitor.apply([.leg(leg)], now: now) { if case .leg(let leg, _) = $0 { steps.append(leg.state.rawValue) } }
        }
        return steps
    }

    @Test func `a leg that was offered and is woken was offered first, unless it rang before`() {
        let (before, after) = (Instant(milliseconds: 1100), Instant(milliseconds: 1200))
        let woken = Self.steps(of: [{ ($0.state, $0.offeredAt) = (.waking, before) }])
        #expect(woken == ["idle", "offered", "waking"])
        let rang = Self.steps(of: [{ ($0.state, $0.ringingAt, $0.offeredAt) = (.answered, before, after) }])
        #expect(rang == ["idle", "ringing", "answered"])
    }

    @Test func `of a leg that opens again no step is told after its first end`() {
        let time = Instant(milliseconds: 1100)
        let steps = Self.steps(of: [
            { ($0.state, $0.endedAt, $0.endReason) = (.ended, time, .noDevices) },
            { ($0.state, $0.endedAt, $0.endReason, $0.offeredAt) = (.offered, nil, nil, time) },
            { ($0.state, $0.ringingAt, $0.answeredAt) = (.answered, time, time) },
            { ($0.state, $0.endedAt, $0.endReason) = (.ended, time, .hangup) },
        ])
        #expect(steps == ["idle", "ended"])
    }

    @Test("an `after` that is none of ours is refused, and so is a page without entries")
    func cursors() {
        let monitor = CallMonitor(now: Instant(milliseconds: 0))
        for limit in [0, -1, Int.min] {
            #expect(throws: AdminRefusal.self) { try monitor.page(ListCalls(live: true, limit: limit)) }
            #expect(throws: AdminRefusal.self) { try monitor.page(ListSessions(limit: limit)) }
        }
        for after in ["", "7", "x y", "7 7"] {
            #expect(throws: AdminRefusal.self) { try monitor.page(ListCalls(live: true, after: after)) }
            #expect(throws: AdminRefusal.self) { try monitor.page(ListSessions(after: after)) }
        }
        let id = CallID(high: 1, low: 2)
        for time in ["+5", "-1", "-9223372036854775808", "18446744073709551615", "99999999999999999999", "1e400"] {
            #expect(throws: AdminRefusal.self) { try monitor.page(ListCalls(live: true, after: "\(time) \(id)")) }
        }
        for time in ["0", "9223372036854775807"] {
            #expect(throws: Never.self) { try monitor.page(ListCalls(live: true, after: "\(time) \(id)")) }
        }
    }
}
