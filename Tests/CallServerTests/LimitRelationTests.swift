import CallCore
import CallVocabulary
import ClientTokens
import EventLoop
import Foundation
import LibWebSockets
import PushClient
import PushCore
import Testing
import WebSocketServer

@testable import CallServer
@testable import OutgoingHTTP
@testable import WebhookClient

/// Relations between limits. Each assertion gives its reason.
@Suite("Limits fit together")
struct LimitRelationTests {
    private let listener = ServerConfiguration(
        address: .anyPort, data: DataFolder(path: "/nowhere")
    ).listener

    @Test("the longest WebSocket token fits an HTTP request, with the same space for other headers")
    func tokens() {
        #expect(TokenVerifier.longest == FrameLimits.token)
        #expect(FrameLimits.token + 8_192 <= RequestHead.longest)
        #expect(FrameLimits.token + 4_096 <= FrameLimits.frame)
    }

    @Test("each limit of what all users share stands beside one user's share in the article about threats")
    func shares() throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Sources/CallServer/CallServer.docc/Threats.md")
        let article = try String(contentsOf: file, encoding: .utf8)
        let table = try #require(article.components(separatedBy: "\n## Shares\n").dropFirst().first)
        // Of one session, call or device.
        let others: Set = [
            "replayEvents", "replayBytes", "bufferedCandidates", "bufferedCandidateBytes", "unreportedStreak",
            "backgroundPushes", "forwards",
        ]
        let shared = Mirror(reflecting: CoreLimits()).children.compactMap(\.label).filter { name in
            !name.contains("Per") && !others.contains(name)
        }
        #expect(shared.count > 7)
        for name in shared {
            let key = name.map { $0.isUppercase ? "_\($0.lowercased())" : "\($0)" }.joined()
            #expect(table.contains("`limits.\(key)`"), "\(key)")
        }
        let numbers = [
            CoreLoop.inboxCapacity, PushPolicy().queueCapacity, PushPolicy().heldPerDevice,
            PushPolicy().throttledDevices, RateLimiter.mostKeys, PageRates.burst, PageRates.perSecond,
        ]
        for number in numbers {
            // As the articles write it.
            let text = number < 1000 ? "\(number)" : "\(number / 1000)," + String("\(1000 + number % 1000)".dropFirst())
            #expect(table.contains(text), "\(text)")
        }
    }

    @Test("idle connections suffice for all requests of one webhook endpoint, and of eight endpoints")
    func connections() {
        #expect(WebClient.mostIdleEach >= DeliveryQueue.mostInFlight)
        #expect(WebClient.mostIdle >= 8 * WebClient.mostIdleEach)
    }

    @Test("push services that devices have made up leave threads for the look-ups of other names")
    func lookUps() {
        // libuv gives look-ups half of its threads. Each connection of a push service looks its name up.
        #expect(WebPushEndpoint.mostUnproven * PushPolicy().connections + 4 <= NameLookup.threads / 2)
    }

    @Test("the listener accepts frames and request bodies of the protocol's maximum size")
    func frames() {
        #expect(listener.maxFrameBytes == FrameLimits.frame)
        #expect(HTTPRequest.longestBody == FrameLimits.frame)
        #expect(FrameLimits.reportError * 6 + 4_096 < HTTPRequest.longestBody)
    }

    @Test("the parts of a frame fit it together at their maximum sizes")
    func parts() {
        #expect(FrameLimits.content < FrameLimits.frame)
        #expect(FrameLimits.sdp + FrameLimits.target <= FrameLimits.content)
        #expect(FrameLimits.sdp + FrameLimits.custom <= FrameLimits.content)
        #expect(FrameLimits.resumeToken < FrameLimits.token)
        #expect(FrameLimits.pushTokens * (PushToken.longestSubscription + FrameLimits.topic) < FrameLimits.frame)
        #expect(PushToken.longest <= PushToken.longestSubscription)
    }

    @Test("the send queue of a client holds many frames, and all events of a resume or of several answered calls")
    func queues() {
        let limits = CoreLimits()
        #expect(listener.maxQueuedBytes >= 8 * FrameLimits.frame)
        #expect(2 * limits.replayBytes + FrameLimits.frame <= listener.maxQueuedBytes)
        #expect(limits.replayBytes >= FrameLimits.frame)
        #expect(limits.bufferedCandidateBytes <= limits.replayBytes)
    }

    @Test("a burst exceeds one second's rate, and the allowance before a session is below that of a session")
    func rates() {
        let limits = ConnectionLimits()
        #expect(limits.burst >= limits.messagesPerSecond)
        #expect(limits.beforeSession.burst < limits.burst)
        #expect(limits.beforeSession.messagesPerSecond < limits.messagesPerSecond)
        #expect(limits.beforeSession.refusalsUntilAbuse < limits.refusalsUntilAbuse)
    }

    @Test("timeouts are ordered: request, session, pings, and the core's timeout")
    func times() {
        #expect(listener.requestTimeout <= listener.answerTimeout)
        #expect(CallResources.standardPatience < listener.answerTimeout)
        #expect(listener.pingTimeout < listener.pingInterval)
        #expect(ConnectionLimits().openWithin <= listener.pingInterval)
    }

    @Test("a home that leaves refuses clients for twice as long as the checks of haproxy.cfg need to notice")
    func leaving() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Resources/haproxy/haproxy.cfg")
        let checks = try String(contentsOf: file, encoding: .utf8).matches(of: #/inter ([0-9]+)ms fall ([0-9]+)/#)
        #expect(!checks.isEmpty)
        for check in checks {
            let (interval, count) = (try #require(Int64(check.1)), try #require(Int64(check.2)))
            #expect(RealmServer.leaving >= .milliseconds(2 * interval * count))
        }
    }

    @Test("however few descriptors there are, connections leave some for store, pushes and administrators")
    func descriptors() {
        for limit in [300, 600, 1_024, 4_096, 65_536, 1_048_576] {
            let connections = DescriptorLimit.connections(within: limit)
            #expect(connections + WebSocketServer.reserve + 2 * 64 + 64 <= limit, "\(limit)")
            #expect(connections > 0)
        }
        #expect(DescriptorLimit.connections(within: DescriptorLimit.fewest) == 64)
        #expect(DescriptorLimit.connections(within: 600) == 344)
        #expect(DescriptorLimit.connections(within: 1_024) == 768)
        let needed = DescriptorLimit.needed(forConnections: 100_000)
        #expect(DescriptorLimit.connections(within: needed) == 100_000)
    }
}
