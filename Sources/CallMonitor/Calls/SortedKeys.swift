/// Keys in order, for lists that are read page by page while keys come and go: no page sorts anything.
///
/// The keys lie in chunks, so that one that comes in between moves a few hundred others at most.
struct SortedKeys<Key: Comparable> {
    private static var longestChunk: Int { 512 }

    /// None is empty.
    private var chunks: [[Key]] = []
    private(set) var count = 0

    /// Does nothing when it is there.
    mutating func insert(_ key: Key) {
        guard let last = chunks.last else {
            chunks = [[key]]
            count = 1
            return
        }
        // The newest call comes last.
        if last[last.count - 1] < key {
            if last.count < Self.longestChunk / 2 {
                chunks[chunks.count - 1].append(key)
            } else {
                chunks.append([key])
            }
            count += 1
            return
        }
        let chunk = chunk(for: key)
        let place = chunks[chunk].firstPlace { $0 >= key }
        guard chunks[chunk][place] != key else { return }
        chunks[chunk].insert(key, at: place)
        count += 1
        split(chunk)
    }

    /// Does nothing when it is not there.
    mutating func remove(_ key: Key) {
        let chunk = chunk(for: key)
        guard chunk < chunks.count else { return }
        let place = chunks[chunk].firstPlace { $0 >= key }
        guard chunks[chunk][place] == key else { return }
        chunks[chunk].remove(at: place)
        if chunks[chunk].isEmpty { chunks.remove(at: chunk) }
        count -= 1
    }

    /// Goes through the keys upwards, for as long as `body` says true, from the first for which `isReached` holds; it holds
    /// for all behind that.
    func ascend(from isReached: (Key) -> Bool, _ body: (Key) -> Bool) {
        var chunk = chunks.firstPlace { isReached($0[$0.count - 1]) }
        guard chunk < chunks.count else { return }
        var place = chunks[chunk].firstPlace(where: isReached)
        while chunk < chunks.count {
            while place < chunks[chunk].count {
                guard body(chunks[chunk][place]) else { return }
                place += 1
            }
            chunk += 1
            place = 0
        }
    }

    /// Goes through the keys before one, downwards, for as long as `body` says true; from the last when it is nil.
    func descend(before key: Key?, _ body: (Key) -> Bool) {
        var chunk = key.map { key in chunks.firstPlace { $0[0] >= key } - 1 } ?? chunks.count - 1
        guard chunk >= 0 else { return }
        var place = key.map { key in chunks[chunk].firstPlace { $0 >= key } } ?? chunks[chunk].count
        while true {
            while place > 0 {
                place -= 1
                guard body(chunks[chunk][place]) else { return }
            }
            chunk -= 1
            guard chunk >= 0 else { return }
            place = chunks[chunk].count
        }
    }

    /// The chunk that has the key, or is to have it; one past the last when the key is beyond them all.
    private func chunk(for key: Key) -> Int { chunks.firstPlace { $0[$0.count - 1] >= key } }

    private mutating func split(_ chunk: Int) {
        let keys = chunks[chunk]
        guard keys.count > Self.longestChunk else { return }
        let middle = keys.count / 2
        chunks[chunk] = Array(keys[..<middle])
        chunks.insert(Array(keys[middle...]), at: chunk + 1)
    }
}

extension RandomAccessCollection where Index == Int {
    /// The first place at which `condition` holds, which holds from there on; the end when there is none.
    func firstPlace(where condition: (Element) -> Bool) -> Int {
        var (low, high) = (startIndex, endIndex)
        while low < high {
            let middle = low + (high - low) / 2
            if condition(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
