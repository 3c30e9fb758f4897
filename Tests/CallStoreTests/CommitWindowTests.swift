import Testing

@testable import CallStore

@Suite struct CommitWindowTests {
    private let begin = ContinuousClock.now

    @Test func `a commit after a pause begins at once, one that follows closely waits for the rest of the interval`() {
        var window = CommitWindow()
        #expect(window.wait(at: begin) == nil)
        window.commitBegan(at: begin, batches: 1)
        #expect(window.wait(at: begin + .microseconds(500)) == CommitWindow.interval - .microseconds(500))
        window.commitBegan(at: begin + CommitWindow.interval, batches: 3)
        #expect(window.wait(at: begin + CommitWindow.interval * 2) == nil)
    }

    @Test func `after waits in vain, commits begin at once for a while`() {
        var window = CommitWindow()
        window.commitBegan(at: begin, batches: 1)
        for _ in 0..<CommitWindow.mostInVain {
            #expect(window.wait(at: begin) != nil)
            window.commitBegan(at: begin, batches: 1)
        }
        for _ in 0..<CommitWindow.commitsWithoutWait {
            #expect(window.wait(at: begin) == nil)
            window.commitBegan(at: begin, batches: 1)
        }
        #expect(window.wait(at: begin) != nil)
    }

    @Test func `a wait that brought a second batch counts for all before it`() {
        var window = CommitWindow()
        window.commitBegan(at: begin, batches: 1)
        for count in 1...(3 * CommitWindow.mostInVain) {
            #expect(window.wait(at: begin) != nil)
            window.commitBegan(at: begin, batches: count.isMultiple(of: CommitWindow.mostInVain) ? 2 : 1)
        }
    }
}
