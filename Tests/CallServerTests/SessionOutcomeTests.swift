import CallCore
import CallVocabulary
import LibWebSockets
import Testing
import WebSocketServer

@testable import CallServer

@Suite("Labels of sessions and connections")
struct SessionOutcomeTests {
    @Test("the labels are a fixed list, whatever close code a client sends")
    func codes() {
        let counters = SessionCounters()
        for code in 0...UInt16.max { counters.countClose(by: .client, code: code) }
        counters.countClose(by: .network, code: nil)
        let closes = counters.closes
        #expect(closes.count == ClosedBy.allCases.count * ClosedCode.all.count)
        func count(_ by: ClosedBy, _ code: String) -> UInt64? { closes.first { $0.by == by && $0.code == code }?.count }
        for code in CloseCode.allCases { #expect(count(.client, "\(code.rawValue)") == 1) }
        #expect(count(.client, "other") == UInt64(65_536 - ClosedCode.known.count))
        #expect(count(.network, "none") == 1 && count(.server, "none") == 0)
    }

    @Test("each end has its origin and the code")
    func endings() {
        for (ending, by, code) in [
            (.server(code: 3503), .server, 3503), (.client(code: 1001), .client, 1001),
            (.client(code: nil), .client, nil), (.network, .network, nil),
        ] as [(WebSocketConnection.Ending, ClosedBy, UInt16?)] {
            #expect(ClosedBy(ending) == by && ending.code == code)
        }
    }

    @Test("an HTTP response is counted only if it refuses")
    func answers() {
        let counters = SessionCounters()
        for status in [200, 204, 401, 401, 403, 503] { counters.countAnswer(status) }
        let refusals = counters.refusals.filter { $0.count > 0 }
        #expect(refusals.map(\.status) == [401, 403, 503] && refusals.map(\.count) == [2, 1, 1])
    }

    @Test("the address of a device is that of the connection which replaced another")
    func addresses() throws {
        let addresses = SessionAddresses()
        let device = DeviceKey(user: try #require(Handle("alice")), device: .random())
        func connection(_ serial: UInt64) -> ConnectionID { ConnectionID(shard: 0, serial: serial) }
        addresses.set(device, connection(1), try #require(PeerAddress(numeric: "192.0.2.1")))
        addresses.set(device, connection(2), try #require(PeerAddress(numeric: "192.0.2.2")))
        addresses.remove(device, connection(1))
        #expect(addresses[device]?.contains("192.0.2.2") == true)
        addresses.remove(device, connection(2))
        #expect(addresses[device] == nil)
    }
}
