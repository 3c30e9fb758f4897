import EventJournal
import EventLoop
import Synchronization
import Testing

@Suite("A mailbox")
struct MailboxTests {
    /// A loop that has been started, and is ended with the test.
    private func withLoop(_ body: (EventLoop) async throws -> Void) async throws {
        let loop = try EventLoop(name: "mailbox test")
        loop.start()
        do {
            try await body(loop)
            await loop.stopAndWait()
        } catch {
            loop.stop()
            throw error
        }
    }

    @Test("gives the messages of each sender in order, all of them, on its loop")
    func order() async throws {
        try await withLoop { loop in
            let journal = Journal<[Int]>()
            let mailbox = Mailbox<(sender: Int, number: Int)>(loop: loop, capacity: 100_000) { batch in
                loop.assertIsCurrent()
                for message in batch { journal.append([message.sender, message.number]) }
            }
            await withTaskGroup { group in
                for sender in 0..<4 {
                    group.addTask {
                        for number in 0..<1000 { #expect(mailbox.post((sender, number))) }
                    }
                }
            }
            try await journal.wait(for: "all messages") { $0.count == 4000 }
            for sender in 0..<4 {
                let numbers = journal.entries.filter { $0[0] == sender }.map { $0[1] }
                #expect(numbers == Array(0..<1000))
            }
            #expect(mailbox.count == 0)
        }
    }

    @Test("refuses what does not fit, all or nothing, and counts it")
    func bound() async throws {
        let loop = try EventLoop(name: "mailbox test")
        let journal = Journal<[Int]>()
        let mailbox = Mailbox<Int>(loop: loop, capacity: 3) { journal.append($0) }
        #expect(mailbox.post(contentsOf: [1, 2]))
        #expect(!mailbox.post(contentsOf: [3, 4]))
        #expect(mailbox.post(5))
        #expect(!mailbox.post(6))
        #expect(mailbox.count == 3)
        #expect(mailbox.refused == 3)
        loop.start()
        try await journal.wait(for: [1, 2, 5])
        #expect(mailbox.post(7))
        try await journal.wait(for: [7])
        await loop.stopAndWait()
    }

    @Test("takes of a list what fits, in order, and leaves the rest in it")
    func movedList() async throws {
        let loop = try EventLoop(name: "mailbox test")
        let journal = Journal<[Int]>()
        let mailbox = Mailbox<Int>(loop: loop, capacity: 5) { journal.append($0) }
        var list = [1, 2, 3]
        mailbox.post(&list)
        #expect(list.isEmpty && mailbox.count == 3 && mailbox.refused == 0)
        list += [4, 5, 6, 7]
        mailbox.post(&list)
        #expect(list == [6, 7] && mailbox.count == 5 && mailbox.refused == 2)
        mailbox.post(&list)
        #expect(list == [6, 7] && mailbox.refused == 4)
        loop.start()
        try await journal.wait(for: [1, 2, 3, 4, 5])
        mailbox.post(&list)
        #expect(list.isEmpty)
        try await journal.wait(for: [6, 7])
        await loop.stopAndWait()
        // The first to find the loop stopped loses what it posts; from then on nothing is taken.
        #expect(!mailbox.post(8))
        list = [9]
        mailbox.post(&list)
        #expect(list == [9] && mailbox.count == 0 && mailbox.refused == 4)
    }

    @Test("keeps its memory from one batch to the next, and nothing of what was in it")
    func reuse() async throws {
        try await withLoop { loop in
            let lives = Mutex(0)
            final class Message: Sendable {
                let onEnd: @Sendable () -> Void
                init(onEnd: @escaping @Sendable () -> Void) { self.onEnd = onEnd }
                deinit { onEnd() }
            }
            let journal = Journal<Int>()
            let mailbox = Mailbox<Message>(loop: loop, capacity: 10_000) { journal.append($0.count) }
            for count in [3, 2000, 1] {
                var list = (0..<count).map { _ in Message { lives.withLock { $0 += 1 } } }
                mailbox.post(&list)
                try await journal.wait(for: count)
                await loop.run {}
            }
            #expect(journal.entries == [3, 2000, 1])
            #expect(lives.withLock { $0 } == 2004)
        }
    }

    @Test("wakes its loop once for whatever comes before it looks")
    func coalescing() async throws {
        let loop = try EventLoop(name: "mailbox test")
        let journal = Journal<Int>()
        let mailbox = Mailbox<Int>(loop: loop, capacity: 1000) { journal.append($0.count) }
        for number in 0..<500 { #expect(mailbox.post(number)) }
        #expect(mailbox.post(contentsOf: 0..<300))
        loop.start()
        try await journal.wait(for: 800)
        await loop.stopAndWait()
        #expect(journal.entries == [800])
    }

    @Test("drops what its receiver leaves, and takes messages posted from within")
    func reentrancy() async throws {
        try await withLoop { loop in
            let journal = Journal<Int>()
            let box = Mutex<Mailbox<Int>?>(nil)
            let mailbox = Mailbox<Int>(loop: loop, capacity: 10) { batch in
                guard let number = batch.popLast() else { return }
                journal.append(number)
                if number < 5 { _ = box.withLock { $0 }?.post(number + 1) }
            }
            box.withLock { $0 = mailbox }
            #expect(mailbox.post(0))
            try await journal.wait(for: 5)
            #expect(journal.entries == Array(0...5))
            box.withLock { $0 = nil }
        }
    }

    @Test("gives a sender back its own messages as its loop ends, and none of those that others post at the time")
    func stopsMeanwhile() async throws {
        for _ in 0..<100 {
            let loop = try EventLoop(name: "mailbox test")
            loop.start()
            let mailbox = Mailbox<Int>(loop: loop, capacity: .max) { _ in }
            let returned = await withTaskGroup(of: [Int].self, returning: [[Int]].self) { group in
                group.addTask {
                    await loop.stopAndWait()
                    return []
                }
                for sender in 0..<3 {
                    group.addTask {
                        var messages: [Int] = []
                        // Bounded, and not without pause: there may be fewer threads than tasks, one of which ends the loop.
                        for _ in 0..<100_000 where messages.isEmpty {
                            messages = [sender * 2, sender * 2 + 1]
                            mailbox.post(&messages)
                            await Task.yield()
                        }
                        return messages
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(Set(returned) == [[], [0, 1], [2, 3], [4, 5]])
        }
    }

    @Test("delivers each message that it has accepted, whenever its loop ends")
    func acceptedIsDelivered() async throws {
        for _ in 0..<100 {
            let loop = try EventLoop(name: "mailbox test")
            loop.start()
            let delivered = Mutex(0)
            let mailbox = Mailbox<Int>(loop: loop, capacity: .max) { batch in delivered.withLock { $0 += batch.count } }
            let accepted = await withTaskGroup(of: Int.self, returning: Int.self) { group in
                group.addTask {
                    await loop.stopAndWait()
                    return 0
                }
                for sender in 0..<3 {
                    group.addTask {
                        var count = 0
                        // Bounded, and not without pause: there may be fewer threads than tasks, one of which ends the
                        // loop.
                        while count < 100_000, sender == 0 ? mailbox.postAlways(sender) : mailbox.post(sender) {
                            count += 1
                            await Task.yield()
                        }
                        return count
                    }
                }
                return await group.reduce(0, +)
            }
            #expect(delivered.withLock { $0 } == accepted)
        }
    }

    @Test("accepts nothing once its loop has ended, if it was paused then, and if the loop never ran")
    func endedUndelivered() async throws {
        let loops = [try EventLoop(name: "mailbox test"), try EventLoop(name: "mailbox test")]
        for (index, loop) in loops.enumerated() {
            let journal = Journal<[Int]>()
            let mailbox = Mailbox<Int>(loop: loop, capacity: 10) { journal.append($0) }
            if index == 0 {
                loop.start()
                _ = await loop.run { mailbox.pause() }
            }
            #expect(mailbox.post(1))
            await loop.stopAndWait()
            #expect(!mailbox.post(2) && !mailbox.postAlways(3) && !mailbox.post(contentsOf: [4, 5]))
            var list = [6, 7]
            mailbox.post(&list)
            #expect(list == [6, 7] && mailbox.refused == 0 && journal.entries == [])
        }
    }

    @Test("tells the sender when its loop has stopped")
    func stopped() async throws {
        let loop = try EventLoop(name: "mailbox test")
        loop.start()
        let mailbox = Mailbox<Int>(loop: loop, capacity: 10) { _ in }
        await loop.stopAndWait()
        #expect(!mailbox.post(1))
    }
}
