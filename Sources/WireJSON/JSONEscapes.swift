/// Escapes in JSON strings that the scanner has checked.
enum JSONEscapes {
    /// Writes `text` with its escapes resolved, as UTF-8, into `output`, which must have room for `text.count` bytes.
    /// - Returns: how many bytes that were.
    static func resolve(_ text: UnsafeRawBufferPointer, into output: UnsafeMutableBufferPointer<UInt8>) -> Int {
        var count = 0
        var index = 0
        while index < text.count {
            let byte = text[index]
            guard byte == UInt8(ascii: "\\") else {
                output[count] = byte
                count += 1
                index += 1
                continue
            }
            if text[index + 1] == UInt8(ascii: "u") {
                let scalar = self.scalar(text, at: &index)
                for unit in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter {
                    output[count] = unit
                    count += 1
                }
            } else {
                output[count] = simple(text[index + 1])
                count += 1
                index += 2
            }
        }
        return count
    }

    /// Four hexadecimal digits at `index`; nil if they are not all that.
    static func hex(_ text: UnsafeRawBufferPointer, at index: Int) -> UInt32? {
        guard index + 4 <= text.count else { return nil }
        var value: UInt32 = 0
        for offset in index..<index + 4 {
            let digit: UInt8
            switch text[offset] {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = text[offset] - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = text[offset] - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = text[offset] - UInt8(ascii: "A") + 10
            default: return nil
            }
            value = value << 4 | UInt32(digit)
        }
        return value
    }

    static func isHighSurrogate(_ unit: UInt32) -> Bool { unit & 0xFC00 == 0xD800 }
    static func isLowSurrogate(_ unit: UInt32) -> Bool { unit & 0xFC00 == 0xDC00 }

    private static func scalar(_ text: UnsafeRawBufferPointer, at index: inout Int) -> Unicode.Scalar {
        // Not met with: the scanner lets in no lone surrogates.
        let replacement: Unicode.Scalar = "\u{FFFD}"
        guard let unit = hex(text, at: index + 2) else { return replacement }
        index += 6
        guard isHighSurrogate(unit) else { return Unicode.Scalar(unit) ?? replacement }
        guard let low = hex(text, at: index + 2) else { return replacement }
        index += 6
        return Unicode.Scalar(0x10000 + (unit & 0x3FF) << 10 + low & 0x3FF) ?? replacement
    }

    private static func simple(_ letter: UInt8) -> UInt8 {
        switch letter {
        case UInt8(ascii: "b"): 8
        case UInt8(ascii: "f"): 12
        case UInt8(ascii: "n"): 10
        case UInt8(ascii: "r"): 13
        case UInt8(ascii: "t"): 9
        default: letter
        }
    }
}
