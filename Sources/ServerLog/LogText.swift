import CallVocabulary

/// Text as it may stand in a line: without line ends or anything that a terminal would act on.
enum LogText {
    /// Escaped as JSON wants it (RFC 8259, 7), cut after ``LogEntry/longestText`` bytes.
    /// - Parameter unquoted: it does not stand in quotes, so that quotes in it are left alone.
    static func appendEscaped(_ text: String, unquoted: Bool = false, to bytes: inout [UInt8]) {
        if appendAsIs(text, to: &bytes) { return }
        var left = LogEntry.longestText
        for scalar in text.unicodeScalars {
            guard left > 0 else { return bytes.append(contentsOf: "…".utf8) }
            switch scalar {
            case "\"" where !unquoted: bytes.append(contentsOf: "\\\"".utf8)
            case "\\": bytes.append(contentsOf: "\\\\".utf8)
            case "\n": bytes.append(contentsOf: "\\n".utf8)
            case "\r": bytes.append(contentsOf: "\\r".utf8)
            case "\t": bytes.append(contentsOf: "\\t".utf8)
            case _ where scalar.isHarmfulOnTerminals:
                for unit in UTF16.encode(scalar)! { appendEscape(unit, to: &bytes) }
            // Every scalar has a form in UTF-8, and in UTF-16.
            default: bytes.append(contentsOf: UTF8.encode(scalar)!)
            }
            left -= UTF8.width(scalar)
        }
    }

    private static func appendEscape(_ unit: UInt16, to bytes: inout [UInt8]) {
        let digits = String(unit, radix: 16)
        bytes.append(contentsOf: "\\u\(String(repeating: "0", count: 4 - digits.count))\(digits)".utf8)
    }

    /// Copies a text that needs no escape, as nearly all do.
    /// - Returns: false for one that may need some; nothing was taken then.
    private static func appendAsIs(_ text: String, to bytes: inout [UInt8]) -> Bool {
        text.utf8.withContiguousStorageIfAvailable { text in
            guard text.count <= LogEntry.longestText else { return false }
            for byte in text
            where byte < 0x20 || byte > 0x7E || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
                return false
            }
            bytes.append(contentsOf: text)
            return true
        } ?? false
    }

    static func append(_ number: Int64, to bytes: inout [UInt8]) {
        var left = number.magnitude
        if number < 0 { bytes.append(UInt8(ascii: "-")) }
        let start = bytes.count
        repeat {
            bytes.append(UInt8(ascii: "0") + UInt8(left % 10))
            left /= 10
        } while left > 0
        bytes[start...].reverse()
    }

    /// Whether it can stand in a line of text as it is.
    static func isPlain(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= LogEntry.longestText
            && text.unicodeScalars.allSatisfy {
                $0 > " " && $0 != "\"" && $0 != "\\" && $0 != "=" && $0 != "\u{A0}" && !$0.isHarmfulOnTerminals
            }
    }
}
