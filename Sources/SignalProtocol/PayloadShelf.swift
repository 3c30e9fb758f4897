/// Buffers of about the same size, reused in turn, so that each has a long time to become free.
///
/// The number of buffers grows to the number in use at a time, up to a bound: a buffer that is still in use in its turn
/// adds one.
struct PayloadShelf {
    /// The size of a buffer, in bytes.
    let size: Int
    /// The most buffers.
    let most: Int
    private(set) var pieces: [[UInt8]] = [[]]
    private var next = 0

    init(size: Int, most: Int) {
        self.size = size
        self.most = most
    }

    /// Returns the bytes that `write` appends to an empty array.
    mutating func fill<Failure: Error>(
        _ write: (inout [UInt8]) throws(Failure) -> Void
    ) throws(Failure) -> [UInt8] {
        let place = next
        next = next + 1 < pieces.count ? next + 1 : 0
        if pieces[place].makeEmpty(for: size), pieces.count < most { pieces.append([]) }
        try write(&pieces[place])
        let piece = pieces[place]
        // More bytes than expected: too large a buffer to keep for smaller payloads.
        if piece.capacity > 2 * size { pieces[place] = [] }
        return piece
    }
}

extension [UInt8] {
    /// Empties the array and reserves `count` bytes, in the same storage unless that is too small or shared.
    /// - Returns: whether another array has kept the storage.
    fileprivate mutating func makeEmpty(for count: Int) -> Bool {
        let (address, hadRoom) = (withUnsafeBytes(\.baseAddress), capacity >= count)
        removeAll(keepingCapacity: true)
        reserveCapacity(count)
        return hadRoom && withUnsafeBytes(\.baseAddress) != address
    }
}
