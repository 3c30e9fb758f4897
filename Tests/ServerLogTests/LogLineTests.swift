import Foundation
import Logging
import Testing

@testable import ServerLog

@Suite("Log lines")
struct LogLineTests {
    private static func line(_ shape: LogLayout.Shape, _ entry: LogEntry) -> String {
        var bytes: [UInt8] = []
        LogLayout(shape).append(entry, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func entry(
        _ message: String, _ metadata: Logger.Metadata = [:], level: Logger.Level = .info
    ) -> LogEntry {
        LogEntry(
            time: LogTime(milliseconds: 1_772_353_800_125), level: level, label: "reveille", message: message,
            metadata: metadata)
    }

    @Test("JSON has the time, level, logger and message, then the metadata under its own keys, numbers as numbers")
    func json() {
        let metadata: Logger.Metadata = [
            "b": "two words", "a": .stringConvertible(312), "c": .stringConvertible(true),
            "d": .stringConvertible(Double.infinity), "e": .array(["x", .stringConvertible(UInt8(7))]),
            "f": .dictionary(["z": "1", "y": "2"]), "message": "mine",
        ]
        #expect(
            Self.line(.json, Self.entry("call ringing", metadata))
                == """
                {"time":"2026-03-01T08:30:00.125Z","level":"info","logger":"reveille","message":"call ringing",\
                "a":312,"b":"two words","c":true,"d":"inf","e":["x",7],"f":{"y":"2","z":"1"},"message_":"mine"}

                """)
    }

    @Test(
        "JSON is one line that a JSON reader gives the text back from, whatever is in it",
        arguments: [
            "\"\\", "a\nb\r\tc", "\u{0}\u{1B}[31m\u{7F}\u{9B}", "häß 📞 \u{2028}", "", "\u{202E}gpj.exe",
            "a\u{200B}b\u{FEFF}",
            "\u{2066}x\u{2069} \u{E0041}", "👩\u{200D}💻",
        ])
    func escaping(text: String) throws {
        let line = Self.line(.json, Self.entry(text, ["key": "\(text)", "\(text)x": "1"]))
        #expect(line.hasSuffix("}\n") && !line.dropLast().contains { $0.isNewline })
        #expect(!line.unicodeScalars.dropLast().contains { $0.value < 32 || (127..<160).contains($0.value) })
        let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        #expect(object["message"] as? String == text)
        #expect(object["key"] as? String == text)
        #expect(object["\(text)x"] as? String == "1")
    }

    @Test(
        "text is for people: quotes only where a value is not one word, nothing that ends the line or drives a terminal"
    )
    func text() {
        let metadata: Logger.Metadata = [
            "name": "Alice B", "ms": .stringConvertible(312), "none": "", "bad": "x\n\u{1B}[2Jy", "assign": "a=b",
        ]
        let line = Self.line(.text(colour: false), Self.entry("call \"ringing\"\n", metadata))
        #expect(
            line.dropFirst("2026-03-01 08:30:00.125".count)
                == " info     call \"ringing\"\\n assign=\"a=b\" bad=\"x\\n\\u001b[2Jy\" ms=312 name=\"Alice B\" none=\"\"\n"
        )
        // Local time: the date and the minutes depend on where the test runs.
        #expect(line.prefix(23).suffix(6) == "00.125")
    }

    @Test(
        "no character that a terminal acts on stands in a line, whichever it is and wherever it was given",
        arguments: [LogLayout.Shape.json, .text(colour: false)])
    func controls(shape: LogLayout.Shape) {
        for value in [UInt32](0...0x2FFF) + [0xFEFF, 0xFFF9, 0x1D173, 0xE0001, 0xE007F] {
            // But for the joiners, which are part of emoji and of Persian words.
            guard let scalar = Unicode.Scalar(value), value != 0x200C, value != 0x200D else { continue }
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: break
            default: continue
            }
            let text = "a\(scalar)b"
            let line = Self.line(
                shape,
                Self.entry(
                    text, [text: "\(text)", "list": .array(["\(text)"]), "members": .dictionary([text: "\(text)"])]))
            #expect(!line.dropLast().unicodeScalars.contains(scalar), "U+\(String(value, radix: 16))")
        }
    }

    @Test("numbers and flags come out as what they are typed as where they are logged, never by their looks")
    func types() {
        let numbers: [any FixedWidthInteger & CustomStringConvertible & Sendable] = [
            Int(7), Int8(7), Int16(7), Int32(7), Int64(7), UInt(7), UInt8(7), UInt16(7), UInt32(7), UInt64(7),
        ]
        for number in numbers {
            #expect(Self.line(.json, Self.entry("m", ["k": .stringConvertible(number)])).contains(#""k":7}"#))
        }
        for (value, wanted) in [
            (.stringConvertible(true), "true"), (.stringConvertible(1.5), "1.5"), (.string("7"), "\"7\""),
            (.string("true"), "\"true\""), (.stringConvertible(Double.nan), "\"nan\""),
        ] as [(Logger.MetadataValue, String)] {
            #expect(Self.line(.json, Self.entry("m", ["k": value])).contains("\"k\":\(wanted)}"), "\(value)")
        }
    }

    @Test("each value that is logged says at its place whether it is a text or a number")
    func sources() throws {
        let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Sources")
        let files = try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
        var count = 0
        for case let file as URL in files where file.pathExtension == "swift" {
            let text = try String(contentsOf: file, encoding: .utf8)
            guard text.contains("import Logging") else { continue }
            // An interpolation alone is a text, whatever is in it: "calls": "\(count)".
            for match in text.matches(of: /(?:"[a-z_]+": |metadata\["[a-z_]+"\] = )"\\\(/) {
                Issue.record("\(file.lastPathComponent): \(match.output): say .string(…) or .stringConvertible(…)")
            }
            count += text.matches(of: /"[a-z_]+": \.string(?:Convertible)?\(/).count
        }
        #expect(count > 40)
    }

    @Test("colour marks the level, and only when it is on")
    func colour() {
        let warning = Self.entry("m", ["k": "v"], level: .warning)
        let line = Self.line(.text(colour: true), warning)
        #expect(line.contains("\u{1B}[33mwarning\u{1B}[0m"))
        #expect(line.hasSuffix(" m \u{1B}[2mk=\u{1B}[0mv\n"))
        #expect(!Self.line(.text(colour: false), warning).contains("\u{1B}"))
        #expect(!Self.line(.json, warning).contains("\u{1B}"))
    }

    @Test("a text that is too long is cut, in either format")
    func cut() throws {
        let long = String(repeating: "ä", count: LogEntry.longestText)
        let json = Self.line(.json, Self.entry(long, ["key": "\(long)"]))
        let object = try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
        let wanted = String(repeating: "ä", count: LogEntry.longestText / 2) + "…"
        #expect(object["message"] as? String == wanted)
        #expect(object["key"] as? String == wanted)
        #expect(Self.line(.text(colour: false), Self.entry(long)).utf8.count < LogEntry.longestText + 100)
    }

    @Test("auto is text on a terminal and JSON otherwise; colour needs a terminal and honours NO_COLOR and TERM=dumb")
    func formats() {
        func shape(_ format: LogFormat, _ isTerminal: Bool, _ environment: [String: String] = [:]) -> LogLayout.Shape {
            LogLayout(format, isTerminal: isTerminal) { environment[$0] }.shape
        }
        #expect(shape(.auto, true) == .text(colour: true))
        #expect(shape(.auto, false) == .json)
        #expect(shape(.json, true) == .json)
        #expect(shape(.text, false) == .text(colour: false))
        #expect(shape(.auto, true, ["NO_COLOR": "1"]) == .text(colour: false))
        #expect(shape(.auto, true, ["NO_COLOR": ""]) == .text(colour: true))
        #expect(shape(.text, true, ["TERM": "dumb"]) == .text(colour: false))
    }

    @Test("times before and after 2038 and at the ends of years are right")
    func times() {
        #expect(LogTime(milliseconds: 0).universal == "1970-01-01T00:00:00.000Z")
        #expect(LogTime(milliseconds: 951_782_399_999).universal == "2000-02-28T23:59:59.999Z")
        #expect(LogTime(milliseconds: 4_102_444_799_007).universal == "2099-12-31T23:59:59.007Z")
        #expect(abs(LogTime.now().milliseconds - Int64(Date().timeIntervalSince1970 * 1000)) < 5000)
    }
}
