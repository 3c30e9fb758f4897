import CallCore
import Testing

@testable import AdminServer

/// What one asker may have of the admin API, which all share.
@Suite("Shares of requests over the admin API")
struct RequestSharesTests {
    private typealias Asker = RequestShares.Asker

    /// Takes room for each of `askers` in turn, until none gets any.
    /// - Returns: how much each got.
    private func fill(_ shares: inout RequestShares, _ askers: [Asker]) -> [Int] {
        var taken = askers.map { _ in 0 }
        var isFull = false
        while !isFull {
            isFull = true
            for (index, asker) in askers.enumerated() where shares.take(asker) {
                taken[index] += 1
                isFull = false
            }
        }
        return taken
    }

    @Test("a connection has few; those with the token for reading have a quarter, and one more always fits")
    func connections() {
        var shares = RequestShares()
        func isTaken(_ asker: Asker) -> Bool { shares.take(asker) }
        let most = RequestShares.mostOfConnection
        let first = fill(&shares, [.administrator(1), .reader(2)])
        #expect(first == [most, most])
        let readers = (3...60).map { Asker.reader($0) }
        let taken = fill(&shares, readers).reduce(most, +)
        #expect(taken < RequestShares.most / 4)
        #expect(isTaken(.reader(61)))
        #expect(isTaken(.administrator(62)))
        for _ in 0..<most { shares.giveBack(.reader(2)) }
        #expect(isTaken(.reader(2)))
    }

    @Test("a backend has what is free of the half for backends, and leaves room for administrators")
    func backends() {
        var shares = RequestShares()
        func isTaken(_ asker: Asker) -> Bool { shares.take(asker) }
        let first = fill(&shares, [.backend("crm")])
        #expect(first == [RequestShares.most / 4])
        #expect(isTaken(.backend("pbx")))
        let others = (0..<1000).map { Asker.backend("\($0)") }
        _ = fill(&shares, others + (1...64).map { Asker.reader($0) })
        #expect(isTaken(.administrator(100)))
        var alone = RequestShares()
        let taken = fill(&alone, others)
        #expect(taken.reduce(0, +) == RequestShares.most / 2)
    }

    @Test("reads of one asker take turns, those of others do not wait, and what nobody waits for is taken out")
    func turns() {
        var turns = ReadTurns()
        func add(_ read: AdminRequestID, _ asker: Asker) -> Bool { turns.add(read, of: asker) }
        func next(_ asker: Asker) -> AdminRequestID? { turns.next(of: asker) }
        let ids = (0..<8).map { AdminRequestID(serial: $0) }
        #expect(add(ids[0], .reader(1)))
        // All that read with one token take turns.
        #expect(!add(ids[1], .reader(2)))
        #expect(!add(ids[2], .reader(1)))
        #expect(!add(ids[3], .reader(2)))
        #expect(add(ids[4], .administrator(1)))
        #expect(add(ids[5], .backend("crm")))
        #expect(!add(ids[6], .backend("crm")))
        // The one at the store stays.
        let dropped = turns.drop(of: .reader(1)) { $0 == ids[0] || $0 == ids[2] }
        #expect(dropped == [ids[2]])
        #expect(next(.reader(1)) == ids[1])
        #expect(next(.reader(2)) == ids[3])
        #expect(next(.reader(2)) == nil)
        #expect(add(ids[7], .reader(1)))
        #expect(next(.backend("crm")) == ids[6])
        #expect(next(.administrator(1)) == nil)
        let none = turns.drop(of: .administrator(1)) { _ in true }
        #expect(none == [])
    }
}
