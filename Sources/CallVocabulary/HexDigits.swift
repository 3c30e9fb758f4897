/// Eight hexadecimal digits at a time: one in each byte of a word, the first in the highest.
enum HexDigits {
    private static let ones: UInt64 = 0x0101_0101_0101_0101
    /// From behind `9` to `a`.
    private static let gap: UInt64 = 39

    /// What the digits stand for, in either case; nil when one of the bytes is no digit.
    static func value(of digits: UInt64) -> UInt32? {
        // By byte: letters alone have this bit. 9 is what is missing from their low half to their value.
        let letters = (digits >> 6) & ones
        let values = (digits & (ones * 0x0F)) &+ letters &* 9
        // No sum passes 0x7F, so nothing is carried from byte to byte.
        let isAboveNine = ((values &+ ones &* 6) >> 4) & ones
        let inLowerCase = digits | letters << 5
        guard isAboveNine == letters, values & (ones * 0x10) == 0,
            values &+ ones &* 0x30 &+ letters &* gap == inLowerCase
        else { return nil }
        var packed = (values | values >> 4) & 0x00FF_00FF_00FF_00FF
        packed = (packed | packed >> 8) & 0x0000_FFFF_0000_FFFF
        return UInt32(truncatingIfNeeded: packed | packed >> 16)
    }

    /// In lower case.
    static func digits(of value: UInt32) -> UInt64 {
        var values = UInt64(value)
        values = (values | values << 16) & 0x0000_FFFF_0000_FFFF
        values = (values | values << 8) & 0x00FF_00FF_00FF_00FF
        values = (values | values << 4) & (ones * 0x0F)
        let letters = ((values &+ ones &* 6) >> 4) & ones
        return values &+ ones &* 0x30 &+ letters &* gap
    }
}
