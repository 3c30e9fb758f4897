import CallVocabulary
import Determinism
import HTTP2
import PushVocabulary
import Testing

@testable import PushSimulator

@Suite("Faults that wait")
struct FaultTableTests {
    private static func fates(
        of faults: [PushFault], _ tokens: [String], seed: UInt64, service: PushFault.Service = .apns
    ) -> [PushFault.Effect?] {
        var table = FaultTable()
        for fault in faults { table.add(fault) }
        var random = SeededGenerator(seed: seed)
        return tokens.map { table.take(service, deviceToken: $0, random: &random)?.effect }
    }

    @Test("a rate befalls that part of the pushes, and the same ones for the same seed")
    func rate() {
        let tokens = [String](repeating: "ab", count: 2000)
        let fault = PushFault(.lose, rate: 0.25)
        let first = Self.fates(of: [fault], tokens, seed: 7)
        let hits = first.count { $0 != nil }
        #expect((400...600).contains(hits))
        #expect(Self.fates(of: [fault], tokens, seed: 7) == first)
        #expect(Self.fates(of: [fault], tokens, seed: 8) != first)
    }

    @Test("a count is used up by the pushes that are hit, not by those that a rate spares")
    func rateAndCount() {
        let fates = Self.fates(
            of: [PushFault(.lose, count: 3, rate: 0.1), PushFault(.neverAnswer, count: 1)],
            [String](repeating: "ab", count: 500), seed: 1)
        #expect(fates.count { $0 == .lose } == 3)
        #expect(fates.count { $0 == .neverAnswer } == 1)
    }

    @Test("a rate of 0 spares all, and a fault for another service or token is none")
    func spared() {
        #expect(Self.fates(of: [PushFault(.lose, rate: 0)], ["ab", "ab"], seed: 1) == [nil, nil])
        let others = [PushFault(.refuseMessage(.unregistered)), PushFault(.lose, deviceToken: "CD")]
        #expect(Self.fates(of: others, ["ab", "cd"], seed: 1) == [nil, .lose])
        #expect(
            Self.fates(of: others, ["ab"], seed: 1, service: .fcm) == [.refuseMessage(.unregistered)])
    }

    @Test("FCM's tokens keep their case")
    func tokenCase() {
        #expect(PushFault(.lose, deviceToken: "ABcd").deviceToken == "abcd")
        #expect(PushFault(.lose, deviceToken: "xY:APA91b").deviceToken == "xY:APA91b")
        // A subscription is known by the last part of its endpoint.
        let subscription = "https://localhost:2200/push/aB-1#p256dh=x&auth=y"
        #expect(PushFault(.lose, deviceToken: subscription).deviceToken == "aB-1")
    }

    static let all: [PushFault] = [
        PushFault(
            .refuse(.unregistered, status: 410, timestamp: Instant(milliseconds: 5)), deviceToken: "ab", count: 2),
        PushFault(.refuseMessage(.quotaExceeded, status: 429, retryAfter: 3)),
        PushFault(.refuseWebPush(.tooManyRequests, status: 420, retryAfter: 3), deviceToken: "bRow-ser_1"),
        PushFault(.lose, rate: 0.5), PushFault(.deliverLate(.milliseconds(250)), jitter: .milliseconds(40)),
        PushFault(.neverAnswer), PushFault(.goAway(.shutdown)), PushFault(.goAway(nil)),
        PushFault(.retire(PushFault.GoAway(text: .plain(.idleTimeout), isDoubled: true, lastStream: .before))),
        PushFault(.reset(.refusedStream)), PushFault(.limitStreams(2)), PushFault(.refuseAndClose, service: .fcm),
        PushFault(.blackHole), PushFault(.splitBody(.badTopic, pause: .milliseconds(9))),
        PushFault(.emptyBody(status: 503)), PushFault(.html(status: 502), service: .oauth),
    ]

    @Test("each fault can be written as an order, and read again", arguments: all)
    func orders(fault: PushFault) throws {
        let order = PushFaultOrder(fault)
        let written = PhoneLinkMessages.encode(order)
        let read = try #require(PhoneLinkMessages.decode(PushFaultOrder.self, from: written))
        #expect(read == order)
        #expect(try read.makeFault() == fault)
    }

    @Test("every name of a fault is one that an order knows")
    func names() {
        #expect(Set(Self.all.map { PushFaultOrder($0).fault }) == Set(PushFaultOrder.Name.allCases.map(\.rawValue)))
    }

    @Test(
        "orders that make no sense say why",
        arguments: [
            ("{\"fault\":\"lose\",\"rate\":1.5}", "rate"), ("{\"fault\":\"lose\",\"provider\":\"mail\"}", "provider"),
            ("{\"fault\":\"html\",\"status\":99}", "status"), ("{\"fault\":\"stream_limit\"}", "limit"),
            ("{\"fault\":\"refuse\",\"provider\":\"fcm\",\"reason\":\"Unregistered\"}", "reason"),
            ("{\"fault\":\"refuse\",\"provider\":\"webpush\",\"reason\":\"UNREGISTERED\"}", "reason"),
            ("{\"fault\":\"refuse\",\"provider\":\"webpush\"}", "reason"),
            ("{\"fault\":\"goaway\",\"last_stream\":\"first\"}", "last_stream"),
            ("{\"fault\":\"goaway\",\"text\":\"xml\"}", "text"),
            ("{\"fault\":\"late\",\"delay_ms\":99999999}", "delay_ms"),
        ])
    func nonsense(json: String, word: String) throws {
        let order = try #require(PhoneLinkMessages.decode(PushFaultOrder.self, from: Array(json.utf8)))
        #expect {
            _ = try order.makeFault()
        } throws: { error in
            "\(error)".contains(word)
        }
    }
}
