import CallVocabulary
import Testing

@testable import PushSimulator

@Suite("A browser and its push service")
struct SimulatedBrowserTests {
    private static func at(_ seconds: Int64) -> Instant { Instant(milliseconds: seconds * 1000) }

    private func push(_ id: String, topic: String? = nil, ttl: Int64 = 30, urgency: String = "high") -> AcceptedWebPush
    {
        AcceptedWebPush(
            id: id, subscription: "b", urgency: urgency, timeToLive: .seconds(ttl), topic: topic, payload: nil)
    }

    @Test("an attached browser gets each push at once, and a notification in time settles it")
    func delivered() {
        var browser = SimulatedBrowser()
        #expect(browser.browserAttached(now: Self.at(0)) == [])
        #expect(browser.pushArrived(push("a", ttl: 0), now: Self.at(1)) == [.deliver(push("a", ttl: 0))])
        #expect(browser.awaitedReports == 1 && browser.nextDeadline == Self.at(31))
        let alert = ShownAlert(id: "a", collapseID: "call", title: "Ann", body: "Incoming call")
        #expect(browser.notificationShown(alert, now: Self.at(30)) == .accepted)
        #expect(browser.notificationShown(alert, now: Self.at(30)) == .notAwaited)
        #expect(browser.alerts == [alert])
        #expect(browser.handleTimeouts(now: Self.at(90)) == [])
        #expect(browser.silent == 0 && browser.nextDeadline == nil)
    }

    @Test("a newer notification with the same tag replaces the older one")
    func tags() {
        var browser = SimulatedBrowser()
        _ = browser.notificationShown(ShownAlert(id: "a", collapseID: "call", body: "Incoming call"), now: Self.at(0))
        _ = browser.notificationShown(ShownAlert(id: "c", collapseID: "other"), now: Self.at(0))
        _ = browser.notificationShown(ShownAlert(id: "b", collapseID: "call", body: "Missed call"), now: Self.at(1))
        #expect(browser.alerts.map(\.id) == ["c", "b"])
    }

    @Test("the third push without a notification ends the subscription; a notification between them does not help")
    func silent() {
        var browser = SimulatedBrowser()
        _ = browser.browserAttached(now: Self.at(0))
        for (round, id) in ["a", "b"].enumerated() {
            let start = Int64(round) * 100
            _ = browser.pushArrived(push(id), now: Self.at(start))
            #expect(browser.handleTimeouts(now: Self.at(start + 29)) == [])
            #expect(browser.handleTimeouts(now: Self.at(start + 30)) == [.silent(id)])
            // Chrome shows one of its own.
            #expect(browser.alerts.map(\.id) == [id] && browser.alerts.first?.body == SimulatedBrowser.ownNotification)
        }
        _ = browser.pushArrived(push("shown"), now: Self.at(200))
        #expect(browser.notificationShown(ShownAlert(id: "shown"), now: Self.at(201)) == .accepted)
        #expect(browser.silent == 2)
        _ = browser.pushArrived(push("c"), now: Self.at(300))
        #expect(browser.notificationShown(ShownAlert(id: "c"), now: Self.at(330)) == .notAwaited)
        #expect(browser.handleTimeouts(now: Self.at(330)) == [.silent("c"), .revoke])
    }

    @Test("while the browser is away, a push waits for its TTL, and a newer one of its topic replaces it")
    func away() {
        var browser = SimulatedBrowser()
        #expect(browser.pushArrived(push("now", ttl: 0), now: Self.at(0)) == [.drop(push("now", ttl: 0), .phoneAway)])
        let (ring, other) = (push("ring", topic: "call"), push("other"))
        let missed = push("missed", topic: "call", ttl: 3600)
        #expect(browser.pushArrived(ring, now: Self.at(0)) == [.store(ring, replaced: nil)])
        #expect(browser.pushArrived(other, now: Self.at(0)) == [.store(other, replaced: nil)])
        #expect(browser.pushArrived(missed, now: Self.at(5)) == [.store(missed, replaced: "ring")])
        #expect(browser.storedPushes == ["other", "missed"])
        #expect(browser.browserAttached(now: Self.at(30)) == [.drop(other, .expired), .deliver(missed)])
        #expect(browser.storedPushes == [])
        browser.browserDetached()
        #expect(browser.pushArrived(other, now: Self.at(40)) == [.store(other, replaced: nil)])
        #expect(browser.browserAttached(now: Self.at(69)) == [.deliver(other)])
    }

    @Test("at most a hundred pushes wait; the oldest is dropped")
    func tooMany() {
        var browser = SimulatedBrowser()
        for index in 0..<100 { _ = browser.pushArrived(push("\(index)"), now: Self.at(0)) }
        #expect(
            browser.pushArrived(push("last"), now: Self.at(0))
                == [.store(push("last"), replaced: nil), .drop(push("0"), .tooManyStored)])
        #expect(browser.storedPushes.count == 100)
    }

    @Test("on a low battery only urgent pushes come", arguments: ["very-low", "low", "normal", "high"])
    func battery(urgency: String) {
        var browser = SimulatedBrowser()
        _ = browser.browserAttached(now: Self.at(0))
        #expect(browser.dozed(true, now: Self.at(0)) == [])
        let pushed = push("a", urgency: urgency)
        let effects = browser.pushArrived(pushed, now: Self.at(1))
        #expect(effects == [urgency == "high" ? .deliver(pushed) : .store(pushed, replaced: nil)])
        #expect(browser.dozed(false, now: Self.at(2)) == (urgency == "high" ? [] : [.deliver(pushed)]))
    }
}
