import AdminProtocol
import CallCore
import CallVocabulary
import Determinism
import Testing

@testable import CallMonitor

@Suite("The sessions there are")
struct SessionRosterTests {
    private static func session(_ serial: UInt64, _ device: DeviceKey) -> SessionRecord {
        SessionRecord(
            id: SessionID(high: 0, low: serial), device: device, platform: .ios, app: nil, wakeCall: nil,
            connection: ConnectionID(shard: 0, serial: serial), openedAt: Instant(milliseconds: 1),
            onlineSince: Instant(milliseconds: Int64(serial)))
    }

    @Test("its pages are the sessions by user and device, as they come and go", arguments: 1...10)
    func pages(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        var roster = SessionRoster()
        var model: [DeviceKey: (session: SessionRecord, isAway: Bool)] = [:]
        for serial in 1...4000 as ClosedRange<UInt64> {
            let user = Handle("user\(Int.random(in: 0..<300, using: &random))")!  // A handle.
            let key = DeviceKey(user: user, device: DeviceID(high: 0, low: UInt64.random(in: 0..<4, using: &random)))
            switch Int.random(in: 0..<4, using: &random) {
            case 0...1:
                // What is said of a session that another has taken the place of comes to nothing.
                let old = model[key]?.session.id
                model[key] = (Self.session(serial, key), false)
                roster.take(.online(model[key]!.session))
                if let old { roster.take(.ended(old, key)) }
                if let old { roster.take(.away(old, key, at: Instant(milliseconds: 3))) }
            case 2:
                guard let session = model[key]?.session else { continue }
                model[key]?.isAway = true
                roster.take(.away(session.id, key, at: Instant(milliseconds: 3)))
            default:
                guard let session = model[key]?.session else { continue }
                model[key] = nil
                roster.take(.ended(session.id, key))
            }
        }
        #expect(roster.count == model.count && roster.away == model.values.count(where: \.isAway))
        var listed: [SessionView] = []
        var request = ListSessions(limit: 17)
        repeat {
            let page = try roster.page(request)
            #expect(page.items.count == 17 || page.next == nil)
            listed += page.items
            request.after = page.next
        } while request.after != nil
        let expected = model.keys.sorted { ($0.user.text, $0.device) < ($1.user.text, $1.device) }
        #expect(listed.map { DeviceKey(user: $0.user, device: $0.deviceID) } == expected)
        #expect(listed.map { $0.state == .away } == expected.map { model[$0]!.isAway })
        let someone = try #require(expected.first?.user)
        let own = try roster.page(ListSessions(user: someone))
        #expect(own.items.count == expected.count { $0.user == someone } && own.next == nil)
    }

    @Test("a page begins behind a user whose handle begins with a combining mark, too")
    func marks() throws {
        var roster = SessionRoster()
        for (serial, name) in [(1, "\u{301}a"), (2, "\u{301}b")] as [(UInt64, String)] {
            let user = try #require(Handle(name))
            roster.take(.online(Self.session(serial, DeviceKey(user: user, device: DeviceID(high: 0, low: serial)))))
        }
        let first = try roster.page(ListSessions(limit: 1))
        let second = try roster.page(ListSessions(limit: 1, after: first.next))
        #expect((first.items + second.items).map(\.deviceID) == [DeviceID(high: 0, low: 1), DeviceID(high: 0, low: 2)])
    }

    @Test("keys stay in order however they come and go, from both ends", arguments: 1...6)
    func keys(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        var keys = SortedKeys<Int>()
        var model: Set<Int> = []
        for _ in 0..<6000 {
            let key = Int.random(in: 0..<4000, using: &random)
            if Int.random(in: 0..<3, using: &random) == 0 {
                keys.remove(key)
                model.remove(key)
            } else {
                keys.insert(key)
                model.insert(key)
            }
        }
        let sorted = model.sorted()
        for bound in [-1, 0, 1, 777, 2000, 3999, 4000] {
            var up: [Int] = []
            keys.ascend(from: { $0 > bound }) {
                up.append($0); return true
            }
            #expect(up == sorted.filter { $0 > bound })
            var down: [Int] = []
            keys.descend(before: bound) {
                down.append($0); return true
            }
            #expect(down == sorted.filter { $0 < bound }.reversed())
        }
        var all: [Int] = []
        keys.descend(before: nil) {
            all.append($0); return true
        }
        #expect(all == sorted.reversed() && keys.count == sorted.count)
        for key in sorted { keys.remove(key) }
        keys.descend(before: nil) { _ in
            Issue.record("one is left"); return true
        }
    }
}
