import CallVocabulary
import PushSimulator
import Testing

@Suite("A simulated iPhone")
struct SimulatedIPhoneTests {
    typealias Effect = SimulatedIPhone.Effect

    static let start = Instant(milliseconds: 1_700_000_000_000)
    var phone = SimulatedIPhone()
    var now = start

    static func push(_ id: String, type: APNSPushType = .voip, expiresIn seconds: Int64? = 45) -> AcceptedPush {
        AcceptedPush(
            id: id, deviceToken: "ab", topic: type == .voip ? "app.voip" : "app", type: type,
            expiration: seconds.map { $0 == 0 ? 0 : start.wholeSeconds + $0 }, payload: [])
    }

    mutating func attach() -> [Effect] { phone.phoneAttached(now: now) }

    mutating func arrive(_ push: AcceptedPush) -> [Effect] { phone.pushArrived(push, now: now) }

    mutating func pass(_ duration: Duration) -> [Effect] {
        now = now + duration
        return phone.handleTimeouts(now: now)
    }

    @Test("a VoIP push launches the app, which has 7 seconds to report it")
    mutating func launch() {
        #expect(attach().isEmpty)
        #expect(arrive(Self.push("1")) == [.deliver(Self.push("1"), mustReport: true)])
        #expect(phone.app == .background)
        #expect(phone.nextDeadline == now + .seconds(7))
        #expect(pass(.milliseconds(6999)).isEmpty)
        #expect(phone.pushReported(id: "1", now: now) == .accepted)
        #expect(phone.nextDeadline == nil)
        #expect(pass(.seconds(10)).isEmpty)
        #expect(phone.app == .background)
    }

    @Test("an app that does not report in 7 seconds is ended")
    mutating func kill() {
        _ = attach()
        _ = arrive(Self.push("1"))
        #expect(pass(.seconds(7)) == [.kill(unreported: ["1"], isVoIPBlocked: false)])
        #expect(phone.app == .killed)
        #expect(phone.failures == 1)
        #expect(phone.isAttached)
        #expect(phone.pushReported(id: "1", now: now) == .notAwaited)
        #expect(phone.awaitedReports == 0)
    }

    @Test("a report at the deadline itself is too late, whichever is handled first")
    mutating func deadline() {
        _ = attach()
        _ = arrive(Self.push("1"))
        now = now + .seconds(7)
        #expect(phone.pushReported(id: "1", now: now) == .notAwaited)
        #expect(pass(.zero) == [.kill(unreported: ["1"], isVoIPBlocked: false)])
    }

    @Test("the third failure in a row stops VoIP pushes, and only those")
    mutating func threeStrikes() {
        _ = attach()
        for strike in 1...3 {
            #expect(arrive(Self.push("\(strike)")) == [.deliver(Self.push("\(strike)"), mustReport: true)])
            #expect(pass(.seconds(7)) == [.kill(unreported: ["\(strike)"], isVoIPBlocked: strike == 3)])
        }
        #expect(phone.isVoIPBlocked)
        #expect(arrive(Self.push("4")) == [.drop(Self.push("4"), .voipBlocked)])
        let alert = Self.push("5", type: .alert)
        #expect(arrive(alert) == [.deliver(alert, mustReport: false)])
        phone.appMoved(to: .foreground)
        phone.appMoved(to: .background)
        #expect(!phone.isVoIPBlocked)
        #expect(arrive(Self.push("6")) == [.deliver(Self.push("6"), mustReport: true)])
        #expect(phone.failures == 0)
    }

    @Test("a report in between starts the count of failures anew")
    mutating func recovery() {
        _ = attach()
        for round in 1...4 {
            _ = arrive(Self.push("miss \(round)"))
            #expect(pass(.seconds(7)) == [.kill(unreported: ["miss \(round)"], isVoIPBlocked: false)])
            _ = arrive(Self.push("hit \(round)"))
            #expect(phone.pushReported(id: "hit \(round)", now: now) == .accepted)
            #expect(phone.failures == 0)
        }
        #expect(!phone.isVoIPBlocked)
    }

    @Test("one overdue push ends the app for all that wait")
    mutating func oneKillForAll() {
        _ = attach()
        _ = arrive(Self.push("1"))
        #expect(pass(.seconds(3)).isEmpty)
        _ = arrive(Self.push("2"))
        #expect(pass(.seconds(4)) == [.kill(unreported: ["1", "2"], isVoIPBlocked: false)])
        #expect(phone.failures == 1)
        #expect(pass(.seconds(3)).isEmpty)
    }

    @Test("in the foreground a push needs no report, and one is taken all the same")
    mutating func foreground() {
        _ = attach()
        phone.appMoved(to: .foreground)
        #expect(arrive(Self.push("1")) == [.deliver(Self.push("1"), mustReport: false)])
        #expect(phone.nextDeadline == nil)
        #expect(pass(.seconds(60)).isEmpty)
        #expect(phone.pushReported(id: "1", now: now) == .accepted)
        #expect(phone.pushReported(id: "1", now: now) == .notAwaited)
        #expect(phone.app == .foreground)
    }

    @Test("alert and background pushes ask for no report", arguments: [APNSPushType.alert, .background])
    mutating func others(type: APNSPushType) {
        _ = attach()
        let push = Self.push("1", type: type)
        #expect(arrive(push) == [.deliver(push, mustReport: false)])
        #expect(phone.app == .killed)
        #expect(phone.nextDeadline == nil)
        #expect(phone.pushReported(id: "1", now: now) == .notAwaited)
    }

    @Test("a push for a phone that is away waits, and is delivered when it comes back")
    mutating func stored() {
        #expect(arrive(Self.push("1")) == [.store(Self.push("1"), replaced: nil)])
        #expect(phone.stored?.id == "1")
        now = now + .seconds(44)
        #expect(attach() == [.deliver(Self.push("1"), mustReport: true)])
        #expect(phone.stored == nil)
        #expect(phone.nextDeadline == now + .seconds(7))
    }

    @Test("of several only the newest waits")
    mutating func newestWins() {
        _ = arrive(Self.push("1"))
        #expect(arrive(Self.push("2")) == [.store(Self.push("2"), replaced: "1")])
        #expect(attach() == [.deliver(Self.push("2"), mustReport: true)])
        #expect(phone.awaitedReports == 1)
    }

    @Test("a stored push is dropped once its expiration has come")
    mutating func expiration() {
        _ = arrive(Self.push("1"))
        now = now + .seconds(45)
        #expect(attach() == [.drop(Self.push("1"), .expired)])
        #expect(phone.isAttached)
        #expect(phone.nextDeadline == nil)
    }

    @Test("expiration 0 is one try: delivered to a phone that is there, dropped for one that is not")
    mutating func onceOnly() {
        let push = Self.push("1", expiresIn: 0)
        #expect(arrive(push) == [.drop(push, .phoneAway)])
        #expect(phone.stored == nil)
        _ = attach()
        #expect(arrive(push) == [.deliver(push, mustReport: true)])
    }

    @Test("a push already expired is tried once, not stored")
    mutating func alreadyExpired() {
        let push = Self.push("1", expiresIn: -1)
        #expect(arrive(push) == [.drop(push, .expired)])
        _ = attach()
        #expect(arrive(push) == [.deliver(push, mustReport: true)])
    }

    @Test("without an expiration a push waits for 30 days")
    mutating func defaultRetention() {
        let push = Self.push("1", expiresIn: nil)
        _ = arrive(push)
        now = now + .seconds(30 * 86_400 - 1)
        #expect(attach() == [.deliver(push, mustReport: true)])
        phone.phoneDetached()
        now = Self.start
        _ = arrive(push)
        now = now + .seconds(30 * 86_400)
        #expect(attach() == [.drop(push, .expired)])
    }

    @Test("losing the network does not excuse from the report")
    mutating func detachedWithPending() {
        _ = attach()
        _ = arrive(Self.push("1"))
        phone.phoneDetached()
        #expect(!phone.isAttached)
        #expect(arrive(Self.push("2")) == [.store(Self.push("2"), replaced: nil)])
        #expect(pass(.seconds(7)) == [.kill(unreported: ["1"], isVoIPBlocked: false)])
        #expect(attach() == [.deliver(Self.push("2"), mustReport: true)])
    }

    @Test("an app swiped away owes nothing, and a VoIP push launches it again")
    mutating func swipedAway() {
        _ = attach()
        _ = arrive(Self.push("1"))
        phone.appMoved(to: .killed)
        #expect(pass(.seconds(7)).isEmpty)
        #expect(phone.failures == 0)
        #expect(arrive(Self.push("2")) == [.deliver(Self.push("2"), mustReport: true)])
        #expect(phone.app == .background)
    }

    @Test("VoIP pushes stored before the block are not delivered after it")
    mutating func blockedWhileStored() {
        _ = attach()
        for strike in 1...2 {
            _ = arrive(Self.push("\(strike)"))
            _ = pass(.seconds(7))
        }
        _ = arrive(Self.push("3"))
        phone.phoneDetached()
        let stored = Self.push("4", expiresIn: 600)
        _ = arrive(stored)
        #expect(pass(.seconds(7)) == [.kill(unreported: ["3"], isVoIPBlocked: true)])
        #expect(attach() == [.drop(stored, .voipBlocked)])
    }

    @Test("in a call a push needs no report, and needs one again afterwards")
    mutating func inCall() {
        _ = attach()
        phone.callsChanged(isInCall: true)
        #expect(arrive(Self.push("1")) == [.deliver(Self.push("1"), mustReport: false)])
        phone.callsChanged(isInCall: false)
        #expect(arrive(Self.push("2")) == [.deliver(Self.push("2"), mustReport: true)])
        phone.callsChanged(isInCall: true)
        #expect(pass(.seconds(7)) == [.kill(unreported: ["2"], isVoIPBlocked: false)])
        #expect(!phone.isInCall)
    }

    @Test("iOS delivers three background pushes in an hour; of those beyond, the newest has its turn")
    mutating func backgroundBudget() {
        _ = attach()
        let pushes = (1...6).map { Self.push("\($0)", type: .background, expiresIn: nil) }
        for push in pushes[0..<3] {
            #expect(arrive(push) == [.deliver(push, mustReport: false)])
            #expect(pass(.seconds(600)).isEmpty)
        }
        #expect(arrive(pushes[3]) == [.hold(pushes[3], replaced: nil)])
        #expect(arrive(pushes[4]) == [.hold(pushes[4], replaced: "4")])
        #expect(phone.held?.id == "5")
        #expect(phone.nextDeadline == Self.start + .seconds(3600))
        #expect(pass(.milliseconds(1_799_999)).isEmpty)
        #expect(pass(.milliseconds(1)) == [.deliver(pushes[4], mustReport: false)])
        #expect(phone.held == nil)
        #expect(phone.nextDeadline == nil)
        #expect(arrive(pushes[5]) == [.hold(pushes[5], replaced: nil)])
        #expect(pass(.seconds(600)) == [.deliver(pushes[5], mustReport: false)])
    }

    @Test("a background push whose turn comes while the phone is away is delivered when it is back")
    mutating func heldWhileAway() {
        phone = SimulatedIPhone(backgroundPushes: 1, backgroundPeriod: .seconds(60))
        _ = attach()
        _ = arrive(Self.push("1", type: .background))
        let held = Self.push("2", type: .background)
        #expect(arrive(held) == [.hold(held, replaced: nil)])
        phone.phoneDetached()
        #expect(phone.nextDeadline == nil)
        #expect(pass(.seconds(60)).isEmpty)
        #expect(attach() == [.deliver(held, mustReport: false)])
    }

    @Test("alerts are shown, and a newer one with the same collapse id takes the place of the older")
    mutating func alerts() {
        _ = attach()
        for (id, collapse, text) in [("1", "call", "Incoming"), ("2", nil, "Hello"), ("3", "call", "Missed")] {
            var push = Self.push(id, type: .alert)
            push.collapseID = collapse
            push.payload = Array("{\"aps\":{\"alert\":{\"title\":\"Ann\",\"body\":\"\(text)\"}}}".utf8)
            _ = arrive(push)
        }
        #expect(
            phone.alerts == [
                ShownAlert(id: "2", title: "Ann", body: "Hello"),
                ShownAlert(id: "3", collapseID: "call", title: "Ann", body: "Missed"),
            ])
    }

    @Test("what is remembered of pushes without a report duty is bounded")
    mutating func boundedMemory() {
        _ = attach()
        phone.appMoved(to: .foreground)
        for index in 0..<65 { _ = arrive(Self.push("\(index)")) }
        #expect(phone.pushReported(id: "0", now: now) == .notAwaited)
        #expect(phone.pushReported(id: "1", now: now) == .accepted)
        #expect(phone.pushReported(id: "64", now: now) == .accepted)
    }
}
