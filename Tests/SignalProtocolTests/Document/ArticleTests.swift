import CallCore
import CallVocabulary
import Foundation
import SignalProtocol
import Testing

/// The tables and the frames of the documentation say what the code does.
struct ArticleTests {
    private let document: ProtocolDocument
    private let wire: Article
    private let semantics: Article

    init() throws {
        document = try ProtocolDocument.shared()
        wire = try Article.wireProtocol()
        semantics = try Article.callSemantics()
    }

    // MARK: Examples

    @Test("each frame of the examples is as the schema says, without unknown members, and is read")
    func examples() throws {
        let check = SchemaCheck(document: document)
        var asked: [String: String] = [:]
        var seen: Set<String> = []
        for frame in wire.frames {
            let bytes = Array(frame.text.utf8)
            let tree = try JSONTree(bytes)
            let key = "\(frame.speaker) \(tree["id"]?.text ?? "")"
            let schema: JSONTree?
            switch frame.direction {
            case .push: schema = document.schemas["VoIPPush"]
            case .toServer:
                let method = try #require(tree["method"]?.string)
                if tree["id"] != nil { asked[key] = method }
                seen.insert("→ \(method)")
                schema = document.clientOperations.first { $0.method == method }?.frame
                #expect(throws: Never.self, "\(frame.text)") { try SignalDecoder.decode(frame: bytes).get() }
            case .fromServer:
                if let method = tree["method"]?.string {
                    seen.insert("← \(method)")
                    schema = document.serverOperations.first { $0.method == method }?.frame
                } else if tree["error"] != nil {
                    schema = document.errorFrame
                    #expect(asked[key] != nil)
                } else {
                    let method = try #require(asked[key], "nobody asked for \(frame.text)")
                    schema = document.clientOperations.first { $0.method == method }?.answer
                }
                #expect(throws: Never.self, "\(frame.text)") { try SignalDecoder.decode(serverFrame: bytes).get() }
            }
            #expect(check.problems(tree, try #require(schema, "\(frame.text)")) == [], "\(frame.text)")
        }
        let told = ["welcome", "call.incoming", "call.state", "call.ended", "call.peer"]
        let said = [
            "session.open", "session.ack", "call.invite", "push.report", "call.answer", "call.connected",
            "call.candidates", "call.hangup",
        ]
        #expect(seen == Set(told.map { "← \($0)" } + said.map { "→ \($0)" }))
        #expect(wire.frames.count(where: { $0.direction == .push }) == 1)
    }

    @Test("an end in the examples has the numbers of its reason")
    func exampleEnds() throws {
        var ends = 0
        for frame in wire.frames where frame.text.contains("\"call.ended\"") {
            let params = try #require(try JSONTree(Array(frame.text.utf8))["params"])
            let reason = try #require(params["reason"]?.string.flatMap { EndReason(rawValue: $0) })
            #expect(params["sip_status"] == .integer(Int128(reason.sipStatus)))
            #expect(params["q850"] == .integer(Int128(reason.q850Cause)))
            #expect(params["callkit_reason"] == .null || params["callkit_reason"] == .string(reason.callKitReason))
            ends += 1
        }
        #expect(ends == 4)
    }

    // MARK: Tables

    @Test("each method has its line, on the side that says it")
    func methods() {
        func named(_ kinds: Set<String>) -> [String] {
            wire.rows.filter { kinds.contains($0[0]) }.map { $0[1] }.sorted()
        }
        #expect(named(["server", "server, event"]) == ServerMethod.allCases.map(\.rawValue).sorted())
        let notifications = ClientMethod.allCases.filter(\.isNotification).map(\.rawValue).sorted()
        #expect(named(["client, notification"]) == notifications)
        let requests = ClientMethod.allCases.filter { !$0.isNotification }.map(\.rawValue).sorted()
        #expect(named(["client, request"]) == requests)
    }

    @Test("the table of errors has the codes of the code, with what belongs to each")
    func errors() throws {
        let rows = wire.rows.filter { Int($0[0]).map { $0 < 0 } == true }
        #expect(rows.map { "\($0[0]) \($0[1])" } == uniqueErrors.map { "\($0.number) \($0.name)" })
        for (row, code) in zip(rows, uniqueErrors) {
            var frame: [UInt8] = []
            SignalEncoder.encode(SignalError(code, ""), into: &frame)
            let data = try #require(try JSONTree(frame)["data"]?.members)
            let more = row[2].hasSuffix("?") ? String(row[2].dropLast()) : row[2]
            #expect(data.keys.filter { $0 != "code" } == (more.isEmpty ? [] : [more]))
        }
    }

    /// One of each code, the one with the most in it, in the order of the samples' numbers.
    private var uniqueErrors: [SignalError.Code] {
        let order = [-32700, -32600, -32601, -32602, -32603] + (1...12).map { -32000 - $0 }
        return order.compactMap { number in Samples.errors.last { $0.number == number } }
    }

    @Test("the table of close codes is the code's")
    func closeCodes() {
        let rows = wire.rows.filter { Int($0[0]).map { $0 >= 1000 } == true }
        #expect(
            rows.map { "\($0[0]) \($0[2])" }
                == CloseCode.allCases.map { "\($0.rawValue) \($0.allowsReconnect ? "yes" : "no")" })
    }

    @Test(
        "the table of limits has the numbers of the code",
        arguments: [
            ("a frame", [FrameLimits.frame]), ("sdp", [FrameLimits.sdp]), ("custom", [FrameLimits.custom]),
            ("to", [FrameLimits.handles, FrameLimits.target]),
            ("`to`, `sdp` and `custom` of one invite", [FrameLimits.content]),
            ("`candidates` of one message", [FrameLimits.content]), ("a handle", [Handle.longest]),
            ("session.open.token", [FrameLimits.token]),
            (
                "a push token, its `topic`",
                [PushToken.longest, PushToken.longestSubscription, FrameLimits.topic, FrameLimits.pushTokens]
            ),
            ("`device.app`, `device.name`", [FrameLimits.name]), ("push.report.error", [FrameLimits.reportError]),
        ])
    func limits(name: String, limits: [Int]) throws {
        let row = try #require(wire.rows.first { $0[0] == name })
        let numbers = row[1].replacing(",", with: "").split(whereSeparator: { !"0123456789".contains($0) })
        #expect(numbers.compactMap { Int($0) }.prefix(limits.count) == limits[...])
    }

    @Test("the table of end reasons is the code's")
    func endReasons() {
        let rows = semantics.rows.filter { $0.count == 5 && EndReason(rawValue: $0[0]) != nil }
        #expect(
            rows.map { [$0[0], $0[2], $0[3], $0[4]] }
                == EndReason.allCases.map { [$0.rawValue, $0.callKitReason, "\($0.sipStatus)", "\($0.q850Cause)"] })
    }

    @Test("the table of timers has the defaults of the core")
    func timers() {
        let timers = CallTimers()
        let code = [
            "ring": timers.ring, "connect": timers.connect, "report": timers.report, "delivery": timers.delivery,
            "resume": timers.resume, "tombstone": timers.tombstone, "hunt": timers.huntStep,
        ]
        for (name, time) in code {
            let row = semantics.rows.first { $0[0] == name && $0.count == 3 }
            #expect(row?[1].hasPrefix("\(time.components.seconds) s") == true, "\(name)")
        }
        let range = CallTimers.ringRange.lowerBound...CallTimers().longestRing
        #expect(
            semantics.rows.first { $0[0] == "ring" }?[1].contains(
                "\(range.lowerBound.components.seconds) s to \(range.upperBound.components.seconds) s") == true)
    }

    @Test("the states and the words of the ledger are those of the code")
    func words() {
        let states = semantics.rows.filter { $0.count == 2 }.compactMap { CallState(rawValue: $0[0]) }
        #expect(states == CallState.allCases)
    }

    @Test("the rules are numbered from 1 to 23")
    func rules() {
        #expect(semantics.numbers == Array(1...23))
    }
}
