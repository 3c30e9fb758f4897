import CallVocabulary
import Determinism
import Testing

@Suite struct DeadlineQueueTests {
    private func at(_ milliseconds: Int64) -> Instant { Instant(milliseconds: milliseconds) }

    @Test("equal times fall due in the order they were added")
    func order() {
        var queue = DeadlineQueue<String>()
        _ = queue.add("second", at: at(5))
        _ = queue.add("third", at: at(5))
        _ = queue.add("first", at: at(4))
        #expect(queue.next == at(4))
        #expect(queue.popDue(now: at(3)) == nil)
        #expect(
            [queue.popDue(now: at(5)), queue.popDue(now: at(5)), queue.popDue(now: at(5))] == [
                "first", "second", "third",
            ])
        #expect(queue.popDue(now: at(5)) == nil && queue.next == nil && queue.count == 0)
    }

    @Test("a token names its own entry only, also when the place is taken again")
    func tokens() {
        var queue = DeadlineQueue<Int>()
        let old = queue.add(1, at: at(1))
        #expect(queue.popDue(now: at(1)) == 1)
        let new = queue.add(2, at: at(2))
        queue.cancel(old)
        #expect(queue.count == 1)
        queue.cancel(new)
        queue.cancel(new)
        #expect(queue.count == 0)
    }

    @Test("it does what a sorted list does", arguments: 0..<20 as Range<UInt64>)
    func againstList(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var queue = DeadlineQueue<Int>()
        var list: [(at: Instant, subject: Int, token: DeadlineQueue<Int>.Token)] = []
        var spent: [DeadlineQueue<Int>.Token] = []
        for subject in 0..<2_000 {
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<5:
                let due = at(.random(in: 0..<500, using: &random))
                list.append((due, subject, queue.add(subject, at: due)))
            case 5..<7:
                guard let index = list.indices.randomElement(using: &random) else { continue }
                queue.cancel(list[index].token)
                spent.append(list.remove(at: index).token)
            case 7:
                if let token = spent.randomElement(using: &random) { queue.cancel(token) }
            default:
                let now = at(.random(in: 0..<500, using: &random))
                // `min` finds the first of equals: the one added first.
                let expected = list.indices.min { list[$0].at < list[$1].at }.flatMap { list[$0].at <= now ? $0 : nil }
                #expect(queue.popDue(now: now) == expected.map { list[$0].subject })
                if let expected { spent.append(list.remove(at: expected).token) }
            }
            #expect(queue.count == list.count)
            #expect(queue.next == list.map(\.at).min())
        }
    }
}
