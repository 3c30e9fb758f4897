/// Pieces of memory of about the same size, used in turn, so that each has long to become free.
///
/// There are as many as are in use at a time, up to a bound: whenever one whose turn has come is not free, there is one more
/// from then on.
struct PayloadShelf {
    /// What a piece holds, in bytes.
    let size: Int
    /// How many pieces there are at most.
    let most: Int
    private(set) var pieces: [[UInt8]] = [[]]
    private var next = 0

    init(size: Int, most: Int) {
        self.size = size
        self.most = most
    }

    /// What `write` has appended to the empty array it is given.
    mutating func fill<Failure: Error>(
        _ write: (inout [UInt8]) throws(Failure) -> Void
    ) throws(Failure) -> [UInt8] {
        let place = next
        next = next + 1 < pieces.count ? next + 1 : 0
        if pieces[place].makeEmpty(for: size), pieces.count < most { pieces.append([]) }
        try write(&pieces[place])
        let piece = pieces[place]
        // It was more than was thought: no piece to be kept for what is smaller.
        if piece.capacity > 2 * size { pieces[place] = [] }
        return piece
    }
}

extension [UInt8] {
    /// Empties it and has it hold so many bytes: in the same memory, unless that is too small or not its own alone.
    /// - Returns: whether another array has kept the memory.
    fileprivate mutating func makeEmpty(for count: Int) -> Bool {
        let (address, hadRoom) = (withUnsafeBytes(\.baseAddress), capacity >= count)
        removeAll(keepingCapacity: true)
        reserveCapacity(count)
        return hadRoom && withUnsafeBytes(\.baseAddress) != address
    }
}
