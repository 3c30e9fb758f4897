import CallVocabulary
import Testing

@testable import PushSimulator

@Suite("A simulated Android phone")
struct SimulatedAndroidPhoneTests {
    typealias Effect = SimulatedAndroidPhone.Effect

    var phone = SimulatedAndroidPhone()
    var now = Instant(milliseconds: 1_700_000_000_000)

    static func message(
        _ id: String, isHigh: Bool = true, ttl: Duration = .seconds(40), key: String? = nil, isShown: Bool = false
    ) -> AcceptedMessage {
        AcceptedMessage(
            id: id, from: "project", isHigh: isHigh, timeToLive: ttl, collapseKey: key, hasNotification: isShown,
            payload: isShown ? Array("{\"notification\":{\"title\":\"\(id)\"}}".utf8) : [])
    }

    mutating func attach() -> [Effect] { phone.phoneAttached(now: now) }

    mutating func arrive(_ message: AcceptedMessage) -> [Effect] { phone.messageArrived(message, now: now) }

    mutating func doze(_ isDozing: Bool) -> [Effect] { phone.dozed(isDozing, now: now) }

    mutating func open(_ isInForeground: Bool) -> [Effect] {
        phone.appMoved(toForeground: isInForeground, now: now)
    }

    mutating func pass(_ duration: Duration) {
        now = now + duration
        phone.handleTimeouts(now: now)
    }

    @Test("high priority wakes a dozing phone, normal priority waits until it is picked up")
    mutating func doze() {
        _ = attach()
        #expect(doze(true).isEmpty)
        let (high, normal) = (Self.message("1"), Self.message("2", isHigh: false))
        #expect(arrive(high) == [.deliver(high, isHigh: true)])
        #expect(arrive(normal) == [.store(normal, replaced: nil)])
        #expect(phone.storedMessages == ["2"])
        #expect(doze(false) == [.deliver(normal, isHigh: false)])
        #expect(phone.storedMessages.isEmpty)
    }

    @Test("what waits longer than its time to live is dropped, and zero is one try")
    mutating func timeToLive() {
        let (short, long) = (Self.message("1", ttl: .seconds(40)), Self.message("2", ttl: .seconds(41)))
        let once = Self.message("3", ttl: .zero)
        #expect(arrive(short) == [.store(short, replaced: nil)])
        #expect(arrive(long) == [.store(long, replaced: nil)])
        #expect(arrive(once) == [.drop(once, .phoneAway)])
        now = now + .seconds(40)
        #expect(attach() == [.drop(short, .expired), .deliver(long, isHigh: true)])
        #expect(arrive(once) == [.deliver(once, isHigh: true)])
    }

    @Test("of messages with one collapse key the newest waits; the others all do")
    mutating func collapse() {
        let all = [("1", "a"), ("2", nil), ("3", "a"), ("4", nil)].map { Self.message($0.0, key: $0.1) }
        var effects: [Effect] = []
        for message in all { effects += arrive(message) }
        #expect(
            effects == [
                .store(all[0], replaced: nil), .store(all[1], replaced: nil), .store(all[2], replaced: "1"),
                .store(all[3], replaced: nil),
            ])
        #expect(phone.storedMessages == ["2", "3", "4"])
        #expect(attach().count == 3)
    }

    @Test("FCM keeps four collapse keys, and drops everything beyond a hundred messages without one")
    mutating func limits() {
        for index in 1...5 { _ = arrive(Self.message("k\(index)", key: "\(index)")) }
        #expect(phone.storedMessages == ["k2", "k3", "k4", "k5"])
        for index in 1...100 { _ = arrive(Self.message("\(index)")) }
        #expect(phone.storedMessages.count == 104)
        let dropped = arrive(Self.message("101")).count {
            if case .drop(_, .tooManyStored) = $0 { true } else { false }
        }
        #expect(dropped == 101)
        #expect(phone.storedMessages.count == 4)
    }

    @Test("an app that shows nothing for three high messages gets normal priority, until it shows something")
    mutating func demotion() {
        _ = attach()
        for index in 1...3 {
            #expect(!phone.isDemoted)
            let message = Self.message("\(index)")
            #expect(arrive(message) == [.deliver(message, isHigh: true)])
            #expect(phone.nextDeadline == now + .seconds(10))
            pass(.seconds(10))
            #expect(phone.messageShown(id: "\(index)", now: now) == .notAwaited)
        }
        #expect(phone.isDemoted)
        #expect(phone.unseen == 3)
        _ = doze(true)
        let (fourth, fifth) = (Self.message("4"), Self.message("5"))
        #expect(arrive(fourth) == [.store(fourth, replaced: nil)])
        #expect(open(true) == [.deliver(fourth, isHigh: true)])
        #expect(!phone.isDemoted)
        #expect(open(false).isEmpty)
        #expect(arrive(fifth) == [.deliver(fifth, isHigh: true)])
        #expect(phone.awaitedReports == 1)
    }

    @Test("a message shown in time starts the count anew")
    mutating func shown() {
        _ = attach()
        for index in 1...5 {
            _ = arrive(Self.message("miss \(index)"))
            pass(.seconds(10))
            _ = arrive(Self.message("hit \(index)"))
            pass(.milliseconds(9999))
            #expect(phone.messageShown(id: "hit \(index)", now: now) == .accepted)
            #expect(phone.unseen == 0)
        }
        #expect(!phone.isDemoted)
        #expect(phone.nextDeadline == nil)
    }

    @Test("the system shows a notification by itself, and a newer one with its key takes its place")
    mutating func notification() {
        _ = attach()
        _ = arrive(Self.message("1", key: "call", isShown: true))
        #expect(phone.alerts == [ShownAlert(id: "1", collapseID: "call", title: "1")])
        #expect(phone.awaitedReports == 0)
        _ = arrive(Self.message("2", key: "call", isShown: true))
        _ = arrive(Self.message("3", isShown: true))
        #expect(phone.alerts.map(\.id) == ["2", "3"])
    }
}
