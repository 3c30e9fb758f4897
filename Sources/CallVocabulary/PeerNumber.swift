/// Numbers in the text of another party: header fields, URLs, cursors, payloads.
///
/// `Int(text)` accepts a sign, and any number that the type holds. Arithmetic with such a number may overflow, which ends
/// the process. The rule `peerNumbers` of `SourceRulesTests` requires these initializers where peers are read.
extension FixedWidthInteger {
    /// The number that ASCII digits stand for. Letters are digits if the radix is above 10, in either case.
    /// - Returns: nil without a digit, for any other byte, such as a sign or a space, and for a number outside `range`.
    package init?(digits bytes: some Sequence<UInt8>, radix: UInt8 = 10, in range: ClosedRange<Self>) {
        guard let read = Self.read(bytes, radix), !read.isTooLarge, range.contains(read.number) else { return nil }
        self = read.number
    }

    package init?(digits text: some StringProtocol, radix: UInt8 = 10, in range: ClosedRange<Self>) {
        self.init(digits: text.utf8, radix: radix, in: range)
    }

    /// The number that ASCII digits stand for; `limit` for a larger one, however many digits it has.
    /// - Returns: nil without a digit, and for any other byte.
    package init?(digits bytes: some Sequence<UInt8>, atMost limit: Self) {
        guard let read = Self.read(bytes, 10) else { return nil }
        self = read.isTooLarge ? limit : Swift.min(read.number, limit)
    }

    package init?(digits text: some StringProtocol, atMost limit: Self) {
        self.init(digits: text.utf8, atMost: limit)
    }

    private static func read(_ digits: some Sequence<UInt8>, _ radix: UInt8) -> (number: Self, isTooLarge: Bool)? {
        var number: Self = 0
        var (isTooLarge, isEmpty) = (false, true)
        for byte in digits {
            guard let digit = value(ofDigit: byte), digit < radix else { return nil }
            let (shifted, overflow) = number.multipliedReportingOverflow(by: Self(radix))
            let (next, carry) = shifted.addingReportingOverflow(Self(digit))
            if overflow || carry { isTooLarge = true }
            (number, isEmpty) = (next, false)
        }
        return isEmpty ? nil : (number, isTooLarge)
    }

    private static func value(ofDigit byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
