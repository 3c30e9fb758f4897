/// Finds the next byte of interest eight bytes at a time.
///
/// The tests are the classic ones on words: subtracting borrows into the top bit of each byte that is below the bound.
/// A borrow can also mark a byte above a true hit, never one below it, and only the lowest mark is used.
@usableFromInline
enum ByteScan {
    @usableFromInline static let ones: UInt64 = 0x0101_0101_0101_0101
    @usableFromInline static let highs: UInt64 = 0x8080_8080_8080_8080
    @usableFromInline static let quotes = ones * UInt64(UInt8(ascii: "\""))
    @usableFromInline static let backslashes = ones * UInt64(UInt8(ascii: "\\"))
    @usableFromInline static let spaces = ones * 0x20

    /// The first index from `start` with a quotation mark, a backslash, a control character or a byte outside ASCII;
    /// `end` if there is none.
    @inlinable
    @inline(__always)
    static func endOfPlainASCII(_ base: UnsafeRawPointer, from start: Int, to end: Int) -> Int {
        var index = start
        while index &+ 8 <= end {
            let word = UInt64(littleEndian: base.loadUnaligned(fromByteOffset: index, as: UInt64.self))
            let hits = (((word ^ quotes) &- ones) | ((word ^ backslashes) &- ones) | (word &- spaces) | word) & highs
            if hits != 0 { return index &+ (hits.trailingZeroBitCount &>> 3) }
            index &+= 8
        }
        while index < end {
            let byte = base.load(fromByteOffset: index, as: UInt8.self)
            if byte < 0x20 || byte >= 0x80 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { break }
            index &+= 1
        }
        return index
    }

    /// Whether `count` bytes are the same in both places.
    @inlinable
    @inline(__always)
    static func isEqual(_ one: UnsafeRawPointer, _ other: UnsafeRawPointer, count: Int) -> Bool {
        var index = 0
        while index &+ 8 <= count {
            let same =
                one.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                == other.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            if !same { return false }
            index &+= 8
        }
        while index < count {
            if one.load(fromByteOffset: index, as: UInt8.self) != other.load(fromByteOffset: index, as: UInt8.self) {
                return false
            }
            index &+= 1
        }
        return true
    }

    /// The first index from `start` with a byte that a JSON string must escape; `end` if there is none.
    @inlinable
    static func endOfUnescaped(_ base: UnsafeRawPointer, from start: Int, to end: Int) -> Int {
        var index = start
        while index &+ 8 <= end {
            let word = UInt64(littleEndian: base.loadUnaligned(fromByteOffset: index, as: UInt64.self))
            let low = ((word ^ quotes) &- ones) | ((word ^ backslashes) &- ones) | (word &- spaces)
            let hits = low & ~word & highs
            if hits != 0 { return index &+ (hits.trailingZeroBitCount &>> 3) }
            index &+= 8
        }
        while index < end {
            let byte = base.load(fromByteOffset: index, as: UInt8.self)
            if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { break }
            index &+= 1
        }
        return index
    }
}
