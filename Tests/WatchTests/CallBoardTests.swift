import AdminProtocol
import ByteMutation
import CallVocabulary
import TerminalScreen
import Testing

@testable import reveille

@Suite("The board of calls")
struct CallBoardTests {
    private let now = Duration.seconds(1000)

    private func board(_ calls: [CallView]) -> CallBoard {
        var board = CallBoard()
        board.begin()
        board.take(Samples.change(calls), at: now)
        return board
    }

    @Test("is whole only when all of the first picture has come")
    func firstPicture() {
        var board = CallBoard()
        board.begin()
        board.take(Samples.change([Samples.call(1)], complete: false), at: now)
        #expect(!board.isComplete)
        #expect(board.entries.isEmpty)
        board.take(Samples.change([Samples.call(2)]), at: now)
        #expect(board.isComplete)
        #expect(board.liveCount == 2)
    }

    @Test("counts live calls by state through all that happens to them")
    func counts() {
        var board = board([Samples.call(1, .routing), Samples.call(2, .ringing)])
        #expect(board.liveByState == [.routing: 1, .ringing: 1])
        board.take(Samples.change([Samples.call(1, .waking), Samples.call(3, .routing)]), at: now)
        #expect(board.liveByState == [.waking: 1, .ringing: 1, .routing: 1])
        board.take(Samples.change([Samples.call(2, .ended, reason: .hangup)]), at: now)
        #expect(board.liveByState == [.waking: 1, .routing: 1])
        #expect(board.entries[Samples.id(2)]?.endedAt == now)
        // Told once more, or forgotten by the server, it stays ended.
        board.take(Samples.change([Samples.call(2, .ended, reason: .hangup)], gone: [Samples.id(2)]), at: now)
        #expect(board.liveByState == [.waking: 1, .routing: 1])
        #expect(board.entries[Samples.id(2)] != nil)
        board.take(Samples.change([], gone: [Samples.id(1)]), at: now)
        #expect(board.liveByState == [.routing: 1])
        #expect(board.entries[Samples.id(1)] == nil)
    }

    @Test("keeps a call that has ended some seconds, and no more than a thousand")
    func afterglow() {
        var board = board([Samples.call(1)])
        board.take(Samples.change([Samples.call(1, .ended, reason: .declined)]), at: now)
        // Told once more, it has not ended anew.
        board.take(Samples.change([Samples.call(1, .ended, reason: .declined)]), at: now + .seconds(3))
        board.forgetEnded(at: now + .milliseconds(5999))
        #expect(board.entries.count == 1)
        let before = board.revision
        board.forgetEnded(at: now + .seconds(6))
        #expect(board.entries.isEmpty)
        #expect(board.revision > before)
        board.take(Samples.change((0..<1500).map { Samples.call($0, .ended, reason: .hangup) }), at: now)
        board.forgetEnded(at: now)
        #expect(board.entries.count == CallBoard.mostEnded)
        #expect(board.entries[Samples.id(1499)] != nil)
    }

    @Test("keeps the old picture until a new one is whole")
    func reset() {
        var board = board([Samples.call(1), Samples.call(2)])
        board.take(Samples.change([Samples.call(2, .answered)], complete: false, reset: true), at: now)
        #expect(board.liveByState == [.ringing: 2])
        board.take(Samples.change([Samples.call(3)]), at: now)
        #expect(board.liveByState == [.answered: 1, .ringing: 1])
        #expect(board.entries[Samples.id(1)] == nil)
    }

    @Test("tells the rate of new calls, and none right after the first picture")
    func rate() {
        var board = board((0..<100).map { Samples.call($0) })
        #expect(board.rate(at: now) == nil)
        for second in 0..<20 {
            let calls = (0..<5).map { Samples.call(1000 + second * 5 + $0) }
            board.take(Samples.change(calls), at: now + .seconds(second))
        }
        #expect(board.rate(at: now + .seconds(19)) == 5)
        #expect(board.rate(at: now + .seconds(60)) == 0)
    }

    @Test("costs only the calls that change: ten thousand live ones do not slow it")
    func proportional() {
        var board = board((0..<10_000).map { Samples.call($0) })
        let time = WorstInput.processorTime {
            for round in 0..<100 {
                board.take(
                    Samples.change((0..<10).map { Samples.call(round * 10 + $0, .answered) }), at: now)
            }
        }
        #expect(board.liveByState == [.ringing: 9000, .answered: 1000])
        // A walk over all of them each time would take many seconds here.
        #expect(time < .seconds(2))
    }
}

@Suite("The rows of the table")
struct CallListingTests {
    private func listing(
        _ calls: [CallView], _ sort: CallSort, filter: String = "", reversed: Bool = false
    ) -> [CallID] {
        var board = CallBoard()
        board.begin()
        board.take(Samples.change(calls), at: .seconds(1))
        var listing = CallListing(sort: sort)
        listing.filter = filter
        listing.isReversed = reversed
        listing.update(board, wallMilliseconds: Samples.time(0).wallMilliseconds)
        return listing.rows
    }

    private static var calls: [CallView] {
        var three = Samples.call(3, .connected, from: "Zoe", to: "adam", created: -30, devices: 4)
        three.to = TargetView(.group("sales"))
        return [
            Samples.call(1, .ringing, from: "alice", to: "bob", created: -10, devices: 2),
            Samples.call(2, .routing, from: "carol", to: "alice", created: -20, devices: 1), three,
        ]
    }

    @Test(
        "are in the order asked for, and the other way round",
        arguments: [
            (CallSort.age, [1, 2, 3]), (.state, [2, 1, 3]), (.from, [3, 1, 2]), (.to, [2, 1, 3]),
            (.devices, [3, 1, 2]),
        ])
    func order(sort: CallSort, order: [Int]) {
        #expect(listing(Self.calls, sort) == order.map(Samples.id))
        #expect(listing(Self.calls, sort, reversed: true) == order.reversed().map(Samples.id))
    }

    @Test(
        "are those that the filter lets through",
        arguments: [
            ("ALICE", [1, 2]), ("zoe", [3]), ("sales", [3]), ("connected", [3]), ("routing", [2]), ("nobody", []),
            ("8000-000000000002", [2]), ("", [1, 2, 3]), ("alicebob", []),
        ])
    func filter(filter: String, expected: [Int]) {
        #expect(listing(Self.calls, .age, filter: filter) == expected.map(Samples.id))
    }
}
