/// Sorted keys for lists that are read page by page while keys are added and removed. Reading a page sorts nothing.
///
/// Keys are stored in chunks, so an insertion moves at most a few hundred others.
struct SortedKeys<Key: Comparable> {
    private static var longestChunk: Int { 512 }

    /// No chunk is empty.
    private var chunks: [[Key]] = []
    private(set) var count = 0

    /// Inserts the key unless it is present.
    mutating func insert(_ key: Key) {
        guard let last = chunks.last else {
            chunks = [[key]]
            count = 1
            return
        }
        // Fast path: the newest call is the last.
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

    /// Removes the key if it is present.
    mutating func remove(_ key: Key) {
        let chunk = chunk(for: key)
        guard chunk < chunks.count else { return }
        let place = chunks[chunk].firstPlace { $0 >= key }
        guard chunks[chunk][place] == key else { return }
        chunks[chunk].remove(at: place)
        if chunks[chunk].isEmpty { chunks.remove(at: chunk) }
        count -= 1
    }

    /// Iterates upwards while `body` returns true, from the first key for which `isReached` is true. `isReached` must
    /// stay true for all later keys.
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

    /// Iterates downwards from the key before `key`, or from the last for nil, while `body` returns true.
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

    /// The chunk for the key; one past the last when the key is above all others.
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
    /// Binary search for the first index at which `condition` is true; it must stay true from there on. Returns the end
    /// if none is.
    func firstPlace(where condition: (Element) -> Bool) -> Int {
        var (low, high) = (startIndex, endIndex)
        while low < high {
            let middle = low + (high - low) / 2
            if condition(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
