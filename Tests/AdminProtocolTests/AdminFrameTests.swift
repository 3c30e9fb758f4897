import ByteMutation
import CallVocabulary
import Testing

@testable import AdminProtocol

@Suite("Frames of the admin API")
struct AdminFrameTests {
    private func call(_ text: String) -> Result<AdminCall, AdminCallFailure> {
        Array(text.utf8).withUnsafeBytes { AdminFrameReader.call($0) }
    }

    private func failure(_ text: String) -> (id: RequestID?, name: String, message: String)? {
        guard case .failure(let failure) = call(text) else { return nil }
        return (failure.id, failure.error.name, failure.error.message)
    }

    @Test("each method has a request of its own, which is read where its name stands", arguments: AdminMethod.allCases)
    func methods(method: AdminMethod) {
        #expect(method.request.method == method)
    }

    @Test(
        "each method says whether it changes something, and then its request tells its parameters",
        arguments: AdminMethod.allCases)
    func effects(method: AdminMethod) {
        switch method.effect {
        case .reads: #expect(!(method.request is any AdminChange.Type))
        case .changes(let change): #expect(ObjectIdentifier(change) == ObjectIdentifier(method.request))
        }
    }

    @Test("a notification of figures that several have in common is as one that is written whole")
    func figures() {
        struct Params: Encodable {
            var subscription = 7
            var stats = ["\u{7}": "\u{202E}/"]
        }
        let stats = AdminFrameWriter.json(Params().stats)
        let whole = AdminFrameWriter.notification(of: .statsSubscribe, Params())
        #expect(AdminFrameWriter.statsChanged(subscription: 7, stats) == whole)
    }

    @Test(
        "a frame costs as much as it is long, whatever text it has",
        arguments: [
            #"{"jsonrpc":"2.0","id":1,"method":"§"}"#, #"{"jsonrpc":"2.0","id":"§","method":"server.info"}"#,
            #"{"§":1,"jsonrpc":"2.0","id":1,"method":"server.info"}"#,
            #"{"jsonrpc":"2.0","id":1,"method":"calls.list","params":{"§":1,"state":"§","user":"§","after":"§"}}"#,
        ])
    func cost(form: String) {
        for worst in WorstInput.allCases {
            let growth = WorstInput.growth(at: 4000) { count in
                let parts = form.split(separator: "§", omittingEmptySubsequences: false).map { Array($0.utf8) }
                return Array(parts.joined(separator: worst.bytes(count)))
            } _: { (frame: [UInt8]) in
                _ = frame.withUnsafeBytes { AdminFrameReader.call($0) }
            }
            #expect(growth <= WorstInput.mostGrowth, "\(worst)")
        }
    }

    @Test("a frame in UTF-16 or UTF-32 is refused, whatever text it has: Foundation would read it")
    func otherEncodings() {
        func bytes<Unit: FixedWidthInteger>(_ units: [Unit]) -> [[UInt8]] {
            [units.map(\.littleEndian), units.map(\.bigEndian)].map { units in
                units.flatMap { unit in withUnsafeBytes(of: unit) { Array($0) } }
            }
        }
        // Each byte of it is one of ASCII.
        let marks = String(decoding: WorstInput.marks.bytes(2000), as: UTF8.self)
        for text in [marks, "server.info"].map({ #"{"jsonrpc":"2.0","id":1,"method":"\#($0)"}"# }) {
            for frame in bytes(Array(text.utf16)) + bytes(text.unicodeScalars.map(\.value)) {
                #expect(!ForeignText.areComparable(inJSON: frame))
                guard case .failure(let failure) = frame.withUnsafeBytes({ AdminFrameReader.call($0) }) else {
                    Issue.record("a frame that is not UTF-8 is taken")
                    continue
                }
                #expect(failure.error.message.contains("not UTF-8"))
            }
        }
        #expect(ForeignText.areComparable(inJSON: #"{"jsonrpc":"2.0","id":1,"method":"server.info"}"#.utf8))
    }

    @Test("characters that a terminal acts on are escaped in frames, and read as what they were")
    func controls() throws {
        for text in ["a\u{9B}31mb", "a\u{7F}", "\u{85}", "\u{202E}gpj", "\u{2028}", "\u{E0041}", "häß 📞"] {
            let frame = AdminFrameWriter.result(id: .number(1), LogLevelView(level: text))
            let written = String(decoding: frame, as: UTF8.self)
            for scalar in written.unicodeScalars {
                switch scalar.properties.generalCategory {
                case .control, .format, .lineSeparator, .paragraphSeparator: Issue.record("\(written)")
                default: break
                }
            }
            #expect(try AdminFrameReader.result(LogLevelView.self, in: frame).level == text)
        }
    }

    @Test("what a client writes is what a server reads, with its id")
    func roundTrip() throws {
        let request = ListCalls(
            live: false, user: Handle("alice"), reason: .ringTimeout, since: Instant(milliseconds: 5), limit: 7,
            after: "x")
        let frame = AdminFrameWriter.request(id: 42, request)
        let read = try frame.withUnsafeBytes { try AdminFrameReader.call($0).get() }
        #expect(read.id == .number(42))
        #expect(read.request as? ListCalls == request)
        let text = String(decoding: frame, as: UTF8.self)
        #expect(text.contains(#""method":"call.list""#) && text.contains(#""since_ms":5"#))
    }

    @Test("params left out, null or with members unknown are those of an empty object")
    func leniency() throws {
        for params in ["", #","params":null"#, #","params":{}"#, #","params":{"user":null,"x":1}"#] {
            let text = #"{"jsonrpc":"2.0","id":"a","method":"call.list"\#(params)}"#
            let read = try call(text).get()
            #expect(read.request as? ListCalls == ListCalls(), "\(text)")
            #expect(read.id == .string("a"))
        }
    }

    @Test(
        "what cannot be taken is told with a code, the member at fault and the id it was asked with",
        arguments: [
            ("no JSON", nil, "parse_error", "The frame is not JSON."),
            ("[]", nil, "invalid_request", "Expected a JSON object; batches are not taken."),
            (#"{"id":1,"method":"call.list"}"#, 1, "invalid_request", "jsonrpc: expected \"2.0\""),
            (#"{"jsonrpc":"2.0","id":1}"#, 1, "invalid_request", "method: expected a string"),
            (#"{"jsonrpc":"2.0","id":1,"method":"x"}"#, 1, "method_not_found", "There is no method x."),
            (
                #"{"jsonrpc":"2.0","method":"call.list"}"#, nil, "invalid_request",
                "id: call.list needs one, a whole number or a string"
            ),
            (
                #"{"jsonrpc":"2.0","id":1,"method":"call.get","params":{}}"#, 1, "invalid_params",
                "params.call_id: missing"
            ),
            (
                #"{"jsonrpc":"2.0","id":1,"method":"call.get","params":{"call_id":"7"}}"#, 1, "invalid_params",
                "params.call_id: expected a UUID"
            ),
            (
                #"{"jsonrpc":"2.0","id":1,"method":"call.get","params":{"call_id":7}}"#, 1, "invalid_params",
                "params.call_id: expected a string"
            ),
            (
                #"{"jsonrpc":"2.0","id":1,"method":"user.get","params":{"user":"a b"}}"#, 1, "invalid_params",
                "params.user: expected 1 to 128 bytes without spaces or control characters"
            ),
            (
                #"{"jsonrpc":"2.0","id":1,"method":"call.list","params":{"reason":"x"}}"#, 1, "invalid_params",
                "params.reason: no such choice"
            ),
            (
                #"{"jsonrpc":"2.0","id":1,"method":"user.forward","params":{"user":"bob","busy":"a b"}}"#, 1,
                "invalid_params", "params.busy: expected 1 to 128 bytes without spaces or control characters"
            ),
            (
                #"{"jsonrpc":"2.0","id":1,"method":"user.forward","params":{"user":"bob","no_answer_seconds":5.5}}"#, 1,
                "invalid_params", "frame: a number is not whole or too large, or a string is not Unicode"
            ),
            (
                #"{"jsonrpc":"2.0","id":1,"method":"call.list","params":[]}"#, 1, "invalid_params",
                "params: expected an object"
            ),
        ] as [(String, Int64?, String, String)])
    func refused(text: String, id: Int64?, name: String, message: String) throws {
        let failure = try #require(self.failure(text))
        #expect(failure.id == id.map { .number($0) })
        #expect(failure.name == name)
        #expect(failure.message == message)
    }

    @Test("an error tells its code twice, as a number and as a word, and is read back")
    func errors() throws {
        let refusal = AdminRefusal(.notFound, "There is none.")
        let frame = AdminFrameWriter.error(id: .number(3), AdminError(refusal))
        #expect(
            String(decoding: frame, as: UTF8.self).contains(#""code":-32003"#)
                && String(decoding: frame, as: UTF8.self).contains(#"{"code":"not_found"}"#))
        guard case .error(.number(3), let error) = frame.withUnsafeBytes({ AdminFrameReader.answer($0) }) else {
            Issue.record("not read as an error")
            return
        }
        #expect(error.refusal == refusal)
        // Of another implementation, without a word.
        let plain = Array(#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}"#.utf8)
        guard case .error(nil, let other) = plain.withUnsafeBytes({ AdminFrameReader.answer($0) }) else {
            Issue.record("not read as an error")
            return
        }
        #expect(other.number == -32700 && other.refusal == nil && other.message == "m")
    }

    @Test(
        "a time is written for programs and for people, and read from the former",
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (1_789_689_600_123, "2026-09-18T00:00:00.123Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"), (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.999Z"), (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] as [(Int64, String)])
    func times(milliseconds: Int64, text: String) {
        #expect(Timestamp(Instant(milliseconds: milliseconds)).rfc3339 == text)
        #expect(Timestamp(rfc3339: text)?.instant.milliseconds == milliseconds)
    }

    @Test("each day of four centuries is read as it is written")
    func days() {
        for day in stride(from: Int64(-2000), to: 146_100, by: 1) {
            let time = Timestamp(Instant(milliseconds: day * 86_400_000 + 86_399_999))
            guard Timestamp(rfc3339: time.rfc3339) == time else {
                Issue.record("\(time.rfc3339)")
                return
            }
        }
    }

    @Test(
        "a time of people has a fraction and an offset if they want",
        arguments: [
            ("2026-09-18T00:00:00Z", 1_789_689_600_000), ("2026-09-18T00:00:00.1Z", 1_789_689_600_100),
            ("2026-09-18T00:00:00.123456789Z", 1_789_689_600_123), ("2026-09-18T02:00:00+02:00", 1_789_689_600_000),
            ("2026-09-17T14:30:00-09:30", 1_789_689_600_000), ("2026-09-18T00:00:00+00:00", 1_789_689_600_000),
            ("0000-01-01T00:00:00Z", -62_167_219_200_000), ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
        ] as [(String, Int64)])
    func readTimes(text: String, milliseconds: Int64) {
        #expect(Timestamp(rfc3339: text)?.instant.milliseconds == milliseconds)
    }

    @Test(
        "a time that no calendar has, and one with other text, is none",
        arguments: [
            "", "2026", "2026-09-18", "2026-09-18T00:00:00", "2026-02-29T00:00:00Z", "2026-02-30T00:00:00Z",
            "2100-02-29T00:00:00Z", "2026-04-31T00:00:00Z", "2026-00-01T00:00:00Z", "2026-13-01T00:00:00Z",
            "2026-01-00T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T00:60:00Z", "2026-01-01T00:00:60Z",
            "2026-1-1T00:00:00Z", "12026-01-01T00:00:00Z", "-026-01-01T00:00:00Z", "+026-01-01T00:00:00Z",
            "2026-01-01 00:00:00Z", "2026-01-01T00:00:00Zxx", "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00.5",
            "2026-01-01T00:00:00.5x", "2026-01-01T00:00:00+2:00", "2026-01-01T00:00:00+0200",
            "2026-01-01T00:00:00+24:00", "2026-01-01T00:00:00+02:60", "2026-01-01T00:00:00+02:00Z",
            "2026-01-01T00:00:00Z\u{301}", "\u{200b}2026-01-01T00:00:00Z",
            "2026-01-01T00:00:00." + String(repeating: "0", count: 60) + "Z",
            "2026-01-01T00:00:00." + String(repeating: "0", count: 43) + "Zx",
        ])
    func noTimes(text: String) {
        #expect(Timestamp(rfc3339: text) == nil)
    }
}
