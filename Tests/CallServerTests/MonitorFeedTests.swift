import CallCore
import CallVocabulary
import EventJournal
import EventLoop
import TestCleanup
import Testing

@testable import AdminServer
@testable import CallServer

@Suite("The feed of the live calls", .cleanup, .timeLimit(.minutes(5)))
struct MonitorFeedTests {
    private let loop: EventLoop
    /// The notifications to the monitor.
    private let news = Journal<String>()
    private let mailbox: Mailbox<AdminMessage>

    init() async throws {
        let loop = try EventLoop.started("feed")
        mailbox = Mailbox(loop: loop, capacity: 100) { [news] messages in
            for message in messages {
                switch message {
                case .fed: news.append("fed")
                case .feedLost: news.append("lost")
                case .answered, .replied, .loaded, .coreFigures, .liveFigures, .backend: news.append("?")
                }
            }
        }
        self.loop = loop
    }

    private static func batch(_ names: String...) -> MonitorFeed.Batch {
        MonitorFeed.Batch(records: names.map { .groupDeleted($0) }, sessions: [])
    }

    private static func names(_ batches: [MonitorFeed.Batch]) -> [[StoreRecord]] { batches.map(\.records) }

    /// The notifications, after all posted jobs have run.
    private func told() async -> [String] {
        _ = await loop.run {}
        return news.entries
    }

    @Test("a wake-up follows the first batch, and none while the monitor polls, until it finds nothing")
    func wakes() async {
        let feed = MonitorFeed(mailbox: mailbox)
        for name in ["a", "b"] { feed.post(Self.batch(name)) }
        #expect(await told() == ["fed"])
        #expect(Self.names(feed.take(orSleep: true)) == [[.groupDeleted("a")], [.groupDeleted("b")]])
        feed.post(Self.batch("c", "d"))
        #expect(await told() == ["fed"])
        // Another reader polls in between: an empty result does not let the monitor sleep.
        #expect(Self.names(feed.take(orSleep: false)) == [[.groupDeleted("c"), .groupDeleted("d")]])
        #expect(feed.take(orSleep: false).isEmpty)
        feed.post(Self.batch("e"))
        #expect(await told() == ["fed"])
        #expect(feed.take(orSleep: true).count == 1)
        #expect(feed.take(orSleep: true).isEmpty)
        feed.post(Self.batch("f"))
        #expect(await told() == ["fed", "fed"])
    }

    @Test("taken batches count until done; beyond the capacity they are lost, reported once, and later ones arrive")
    func loss() async {
        let feed = MonitorFeed(mailbox: mailbox, capacity: 3)
        feed.post(Self.batch("a", "b"))
        let held = feed.take(orSleep: true)
        #expect(feed.waiting == 2)
        feed.post(Self.batch("c"))
        feed.post(Self.batch("d"))
        feed.post(Self.batch("e"))
        #expect(await told() == ["fed", "lost"])
        #expect(feed.losses == 1 && feed.waiting == 3)
        let behind = feed.take(orSleep: true)
        #expect(Self.names(behind) == [[.groupDeleted("c")]])
        feed.done(held + behind)
        #expect(feed.waiting == 0)
        #expect(feed.resume().isEmpty)
        feed.post(Self.batch("f"))
        #expect(Self.names(feed.take(orSleep: true)) == [[.groupDeleted("f")]])
        #expect(feed.losses == 1)
    }
}
