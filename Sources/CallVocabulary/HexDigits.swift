/// Converts eight hexadecimal digits at a time: one per byte of a word, the first in the highest byte.
enum HexDigits {
    private static let ones: UInt64 = 0x0101_0101_0101_0101
    /// The distance from the character after `9` to `a`.
    private static let gap: UInt64 = 39

    /// The value of the digits, in either case; nil when a byte is no digit.
    static func value(of digits: UInt64) -> UInt32? {
        // In each byte: only letters have this bit. A letter's value is its low half plus 9.
        let letters = (digits >> 6) & ones
        let values = (digits & (ones * 0x0F)) &+ letters &* 9
        // No sum exceeds 0x7F, so no byte carries into the next.
        let isAboveNine = ((values &+ ones &* 6) >> 4) & ones
        let inLowerCase = digits | letters << 5
        guard isAboveNine == letters, values & (ones * 0x10) == 0,
            values &+ ones &* 0x30 &+ letters &* gap == inLowerCase
        else { return nil }
        var packed = (values | values >> 4) & 0x00FF_00FF_00FF_00FF
        packed = (packed | packed >> 8) & 0x0000_FFFF_0000_FFFF
        return UInt32(truncatingIfNeeded: packed | packed >> 16)
    }

    /// The digits of `value`, in lower case.
    static func digits(of value: UInt32) -> UInt64 {
        var values = UInt64(value)
        values = (values | values << 16) & 0x0000_FFFF_0000_FFFF
        values = (values | values << 8) & 0x00FF_00FF_00FF_00FF
        values = (values | values << 4) & (ones * 0x0F)
        let letters = ((values &+ ones &* 6) >> 4) & ones
        return values &+ ones &* 0x30 &+ letters &* gap
    }
}
