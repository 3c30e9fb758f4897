import CallVocabulary
import LibWebSockets
import LogCapture
import Testing

@testable import CallServer

@Suite("The log of refusals")
struct RefusalLogTests {
    private let lines = LogLines()
    private let start = Instant(milliseconds: 1_000_000)

    private func refusal(
        _ address: String = "203.0.113.9", reason: String = "bad_token", kind: Refusal.Kind = .session
    ) throws -> Refusal {
        Refusal(
            kind: kind, peer: try #require(PeerAddress(numeric: address)), reason: reason, detail: "There is a reason.",
            user: Handle("alice"), device: nil)
    }

    @Test("of nine bad tokens in a minute five have lines with reason and address, and one line counts the rest")
    func nine() throws {
        let log = RefusalLog(log: lines.logger())
        for second in 0..<9 { log.write(try refusal(), now: start + .seconds(second)) }
        let line = "notice session refused address=203.0.113.9 detail=There is a reason. reason=bad_token user=alice"
        #expect(lines.take() == Array(repeating: line, count: RefusalLog.linesEach))
        log.sweep(now: start + .seconds(59))
        #expect(lines.take() == [])
        log.sweep(now: start + .seconds(60))
        let more =
            "notice session refused, repeated address=203.0.113.9 more=4 reason=bad_token seconds=60"
        #expect(lines.take() == [more])
        log.sweep(now: start + .seconds(600))
        #expect(lines.take() == [])
        log.write(try refusal(), now: start + .seconds(601))
        #expect(lines.take() == [line])
    }

    @Test("each address, reason and kind has its own lines; an IPv6 /64 counts as one address")
    func apart() throws {
        let log = RefusalLog(log: lines.logger())
        for number in 0..<9 { log.write(try refusal("2001:db8::\(number)"), now: start) }
        #expect(lines.take().count == RefusalLog.linesEach)
        log.write(try refusal("2001:db8:0:1::"), now: start)
        log.write(try refusal("2001:db8::", reason: "not_opened"), now: start)
        log.write(try refusal("2001:db8::", kind: .request), now: start)
        #expect(lines.take().count == 3)
    }

    @Test("with any number of addresses, the state and the lines are bounded")
    func flood() throws {
        let log = RefusalLog(log: lines.logger())
        for number in 0..<20_000 {
            log.write(try refusal("10.\(number / 65_536).\(number / 256 % 256).\(number % 256)"), now: start)
        }
        #expect(lines.take().count == RefusalLog.mostKeys + RefusalLog.linesEach)
        log.sweep(now: start + RefusalLog.window)
        let withheld = 20_000 - RefusalLog.mostKeys - RefusalLog.linesEach
        #expect(
            lines.take() == [
                "notice session refused, repeated more=\(withheld) reason=bad_token seconds=60"
            ])
        log.write(try refusal("192.0.2.1"), now: start + RefusalLog.window)
        #expect(lines.take().count == 1)
    }
}
