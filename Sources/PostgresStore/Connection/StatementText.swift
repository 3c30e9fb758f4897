import CallVocabulary

/// SQL for PostgreSQL, made from SQL that SQLite understands too: question marks become `$1`, `$2`, and the column
/// `user`, which is a reserved word, is quoted.
struct StatementText {
    let sql: String
    let parameterCount: Int

    init(_ text: String) {
        var (out, word): ([UInt8], [UInt8]) = ([], [])
        var (count, isQuoted) = (0, false)
        var bytes = Array(text.utf8)[...]
        func endWord() {
            out += word.elementsEqual("user".utf8) ? Array("\"user\"".utf8) : word
            word = []
        }
        while let byte = bytes.popFirst() {
            if byte == UInt8(ascii: "'") { isQuoted.toggle() }
            if isQuoted {
                endWord()
                out.append(byte)
            } else if byte == UInt8(ascii: "?") {
                endWord()
                let digits = bytes.prefix { $0.isDigit }
                bytes.removeFirst(digits.count)
                // As in SQLite, a question mark without a number has the one after the greatest so far.
                let number = Int(digits: digits, in: 1...Int.max) ?? count + 1
                count = max(count, number)
                out += "$\(number)".utf8
            } else if byte.isWordByte {
                word.append(byte)
            } else {
                endWord()
                out.append(byte)
            }
        }
        endWord()
        sql = String(decoding: out, as: UTF8.self)
        parameterCount = count
    }
}

extension UInt8 {
    fileprivate var isDigit: Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= self }

    fileprivate var isWordByte: Bool {
        isDigit || UInt8(ascii: "a")...UInt8(ascii: "z") ~= self || UInt8(ascii: "A")...UInt8(ascii: "Z") ~= self
            || self == UInt8(ascii: "_")
    }
}
