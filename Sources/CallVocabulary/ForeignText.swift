/// The rule for texts of other programs.
///
/// Swift compares and hashes texts by canonical equivalence, for which it sorts each run of combining marks in quadratic
/// time (6.3): one comparison of 30 kB of marks takes more than a second. So what others send becomes a text only if it
/// is ASCII or short. Everything else stays bytes.
public enum ForeignText {
    /// The most bytes of a text that may contain more than ASCII.
    public static let longest = 256

    /// Whether a text of these bytes may be compared and hashed.
    public static func isComparable(_ utf8: some Collection<UInt8>) -> Bool {
        utf8.count <= longest || utf8.allSatisfy { $0 < 0x80 }
    }

    /// Whether all texts of a JSON document may be compared, the names of members included: for a decoder that makes a
    /// text of each. Bytes that are no JSON have no texts to speak of.
    ///
    /// False for a byte 0, which each document in UTF-16 and UTF-32 has, and no document in UTF-8 (RFC 8259, section 8.1).
    /// Foundation's decoders (6.3) read these encodings too, and marks of any number are bytes of ASCII in them.
    public static func areComparable(inJSON bytes: some Sequence<UInt8>) -> Bool {
        var iterator = bytes.makeIterator()
        while let byte = iterator.next() {
            if byte == 0 { return false }
            if byte == UInt8(ascii: "\""), !isComparable(stringOf: &iterator) { return false }
        }
        return true
    }

    /// Reads a string to its end, behind its first quotation mark.
    private static func isComparable(stringOf bytes: inout some IteratorProtocol<UInt8>) -> Bool {
        var (count, isASCII) = (0, true)
        while let byte = bytes.next(), byte != UInt8(ascii: "\"") {
            if byte == 0 { return false }
            count += 1
            if byte >= 0x80 { isASCII = false }
            guard byte == UInt8(ascii: "\\"), let letter = bytes.next() else { continue }
            // `\u0000` to `\u007f` are ASCII.
            guard letter == UInt8(ascii: "u") else { continue }
            let digits = (0..<4).compactMap { _ in bytes.next() }
            count += 2
            if !digits.starts(with: "00".utf8) || digits.count < 4 || digits[2] > UInt8(ascii: "7") { isASCII = false }
        }
        return count <= longest || isASCII
    }
}

/// `replacing` and `split` of the standard library compare characters: they miss a quotation mark, or another delimiter, that
/// is one character with the combining mark behind it or with a letter before it. What writes or reads a format uses these.
extension StringProtocol {
    /// The text with other bytes in each place of `old`.
    public func replacingBytes(_ old: String, with new: String) -> String {
        String(decoding: Array(utf8).replacing(Array(old.utf8), with: Array(new.utf8)), as: UTF8.self)
    }

    /// The parts between delimiters, empty ones too.
    public func parts(at delimiter: Unicode.Scalar) -> [Substring] {
        String(self).unicodeScalars.split(separator: delimiter, omittingEmptySubsequences: false).map { Substring($0) }
    }
}

extension RawRepresentable where RawValue == String, Self: CaseIterable {
    /// The case with exactly these bytes; nil if there is none. The names of cases are ASCII, and short.
    public init?(utf8 bytes: some Collection<UInt8>) {
        guard bytes.count <= ForeignText.longest, bytes.allSatisfy({ $0 < 0x80 }) else { return nil }
        self.init(rawValue: String(decoding: bytes, as: UTF8.self))
    }
}
