import Foundation

/// Base64url without padding (RFC 4648, section 5; RFC 7515, section 2). Decoding is strict: each byte sequence has
/// exactly one encoding.
public enum Base64URL {
    public static func encode(_ bytes: some Sequence<UInt8>) -> String {
        var digits = Array(Data(bytes).base64EncodedData())
        while digits.last == UInt8(ascii: "=") { digits.removeLast() }
        for index in digits.indices {
            switch digits[index] {
            case UInt8(ascii: "+"): digits[index] = UInt8(ascii: "-")
            case UInt8(ascii: "/"): digits[index] = UInt8(ascii: "_")
            default: break
            }
        }
        return String(decoding: digits, as: UTF8.self)
    }

    /// - Returns: nil for padding, digits of another alphabet, and non-zero bits after the last byte.
    public static func decode(_ text: Substring) -> [UInt8]? {
        var digits: [UInt8] = []
        digits.reserveCapacity(text.utf8.count + 3)
        for digit in text.utf8 {
            switch digit {
            case UInt8(ascii: "-"): digits.append(UInt8(ascii: "+"))
            case UInt8(ascii: "_"): digits.append(UInt8(ascii: "/"))
            case UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="): return nil
            default: digits.append(digit)
            }
        }
        digits.append(contentsOf: repeatElement(UInt8(ascii: "="), count: (4 - digits.count % 4) % 4))
        guard let bytes = Data(base64Encoded: Data(digits)).map(Array.init), encode(bytes) == text else { return nil }
        return bytes
    }
}
