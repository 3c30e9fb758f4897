import CallVocabulary
import PushVocabulary
import Testing

@testable import PushCore

/// One push and one trouble at a time, against a table.
@Suite("What comes of each answer and each fault")
struct PushFaultTableTests {
    static let rows = PushFaultRow.parse(pushFaultTable)

    @Test("the table has every reason, every verdict, every class of status and every fault, each row once")
    func completeness() {
        let names = Self.rows.map(\.name)
        #expect(Set(names).count == names.count)
        for reason in APNSReason.allCases { #expect(names.contains(reason.rawValue), "\(reason)") }
        for code in FCMErrorCode.allCases {
            #expect(names.contains { $0.hasPrefix("FCM ") && $0.split(separator: " ")[2] == code.rawValue }, "\(code)")
        }
        for fault in PushFault.allCases { #expect(names.contains(fault.rawValue), "\(fault)") }
        var verdicts: Set<PushVerdict> = []
        for row in Self.rows {
            guard case .answer(let answer)? = row.setting?.trouble else { continue }
            verdicts.insert(answer.verdict)
        }
        #expect(verdicts == Set(PushVerdict.allCases))
        let statuses = Set(names.compactMap { $0.hasPrefix("HTTP ") ? Int($0.dropFirst(5)) : nil })
        for status in [200, 302, 400, 403, 404, 410, 429, 500, 502, 599] { #expect(statuses.contains(status)) }
    }

    @Test("each row comes out as it says", arguments: rows)
    func row(_ row: PushFaultRow) throws {
        let setting = try #require(row.setting, "\(row.name) names nothing")
        let actual = Self.play(row.name, setting)
        #expect(actual.description == row.description)
    }

    /// Plays a row twice: with the trouble each time the push is sent, and with the trouble only the first time.
    static func play(_ name: String, _ setting: PushFaultScene.Setting) -> PushFaultRow {
        var always = PushFaultScene(setting)
        always.play()
        var once = setting
        once.comesOnce = true
        var first = PushFaultScene(once)
        first.play()
        let failures = always.bench.machine.credential.failures
        let sends = always.sends > 4 ? "many" : "\(always.sends)"
        return PushFaultRow(
            name: name, effects: summary(always.effects),
            sends: first.wait.map { "\(sends) \(describe($0))" } ?? sends, end: describe(always),
            once: describe(first), alarms: Set(always.alarms.map(\.word)).sorted().joined(separator: " "),
            connection: first.isConnectionKept.map { $0 ? "kept" : "gone" } ?? "",
            credential: failures == 0 ? "good" : failures == 1 ? "same" : "bad")
    }

    /// Without the alarms and the outcome, which have columns of their own; the same thing again is counted.
    private static func summary(_ effects: [String]) -> String {
        var words: [(word: String, count: Int)] = []
        for effect in effects {
            if words.last?.word == effect {
                words[words.count - 1].count += 1
            } else if effect == "submit", words.last?.word == "ready" {
                words[words.count - 1].word = "again"
            } else {
                words.append((effect, 1))
            }
        }
        // What goes out again was given back before.
        if words.contains(where: { $0.word == "again" }) { words.removeAll { $0.word == "back" } }
        return words.map { $0.count > 1 ? "\($0.count)\($0.word)" : $0.word }.joined(separator: " ")
    }

    private static func describe(_ scene: PushFaultScene) -> String {
        if scene.isTokenDead { return "dead" }
        return scene.outcomes.last.map(PushFaultScene.word(of:)) ?? "nothing"
    }

    /// What is spread by a jitter has no time in the table.
    private static func describe(_ wait: Duration) -> String {
        if wait == .zero { return "now" }
        let milliseconds = wait.wholeMilliseconds
        return milliseconds % 1000 == 0 ? "\(milliseconds / 1000)s" : "soon"
    }
}

extension PushAlarm.Kind {
    fileprivate var word: String {
        switch self {
        case .clockSkew: "clock"
        case .credentialRefused: "key"
        case .addressRefused: "address"
        case .signingFailed: "signing"
        case .connectionFailed: "connect"
        case .providerThrottled: "quota"
        case .configurationSuspected: "config"
        }
    }
}

/// A line of the table.
struct PushFaultRow: CustomStringConvertible, CustomTestStringConvertible, Sendable {
    var name: String
    var effects: String
    var sends: String
    var end: String
    var once: String
    var alarms: String
    var connection: String
    var credential: String

    var testDescription: String { name }
    var description: String {
        [name, effects, sends, end, once, alarms, connection, credential].map { $0.isEmpty ? "-" : $0 }
            .joined(separator: " | ")
    }

    /// What the name stands for; nil when it is none.
    var setting: PushFaultScene.Setting? {
        let words = name.split(separator: " ").map(String.init)
        let plain = words.filter { !$0.hasPrefix("+") }
        guard var setting = Self.setting(named: plain.joined(separator: " ")) else { return nil }
        for part in words where part.hasPrefix("+") {
            switch part {
            case "+notice": setting.isUrgent = false
            case "+old": setting.isTokenOld = true
            case "+cert": setting.credential = .certificate
            default: return nil
            }
        }
        return setting
    }

    private static func setting(named name: String) -> PushFaultScene.Setting? {
        let words = name.split(separator: " ").map(String.init)
        if let reason = APNSReason(rawValue: name) {
            let body = Array("{\"reason\":\"\(name)\"}".utf8)
            return .init(trouble: .answer(PushAnswer.apns(status: reason.status, body: body)))
        }
        if let fault = PushFault(rawValue: name) {
            return .init(trouble: .fault(fault), credential: fault == .fetchFails ? .fetchedToken : .signedToken)
        }
        if words.count == 2, words[0] == "HTTP", let status = Int(words[1]) {
            return .init(trouble: .answer(PushAnswer.apns(status: status, body: [])))
        }
        guard words.count >= 3, words[0] == "FCM", let status = Int(words[1]) else { return nil }
        let retryAfter = words.count == 4 ? Int(words[3].dropLast()).map { Duration.seconds($0) } : nil
        let code = words[2].split(separator: "/").map(String.init)
        let body = fcmBody(status, code[0], quotaOf: code.count == 2 ? code[1] : nil)
        let answer = PushAnswer.fcm(status: status, body: body, retryAfter: retryAfter)
        guard answer.reason == code[0] else { return nil }
        return .init(trouble: .answer(answer), credential: .fetchedToken)
    }

    /// As Google writes it: with FCM's own code, or with the general one alone where FCM has not come to speak.
    private static func fcmBody(_ status: Int, _ code: String, quotaOf owner: String?) -> [UInt8] {
        guard FCMErrorCode(rawValue: code) != nil else {
            return Array(#"{"error":{"code":\#(status),"message":"Words.","status":"\#(code)"}}"#.utf8)
        }
        let detail = #"{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"\#(code)"}"#
        let message = owner.map { "Quota of the \($0) exceeded." } ?? "Words."
        return Array(#"{"error":{"code":\#(status),"message":"\#(message)","details":[\#(detail)]}}"#.utf8)
    }

    /// Lines of columns between bars; what begins with `#` is a heading.
    static func parse(_ text: String) -> [PushFaultRow] {
        text.split(separator: "\n").filter { !$0.hasPrefix("#") }.compactMap { line in
            let cells = line.split(separator: "|").map { cell in
                let text = cell.drop { $0 == " " }
                return String(text.prefix(text.count - text.reversed().prefix { $0 == " " }.count))
            }
            guard cells.count == 8 else {
                Issue.record("not 8 columns: \(line)")
                return nil
            }
            return PushFaultRow(
                name: cells[0], effects: cells[1], sends: cells[2], end: cells[3],
                once: cells[4], alarms: cells[5], connection: cells[6], credential: cells[7])
        }
    }
}
