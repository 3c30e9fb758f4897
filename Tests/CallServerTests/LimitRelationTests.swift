import CallCore
import CallVocabulary
import EventLoop
import LibWebSockets
import Testing
import WebSocketServer

@testable import CallServer

/// What one limit means for another. Each line names why.
@Suite("Limits fit together")
struct LimitRelationTests {
    private let listener = ServerConfiguration(
        // Numeric, so never nil.
        address: SocketAddress(host: "127.0.0.1", port: 0)!, data: DataFolder(path: "/nowhere")
    ).listener

    @Test("the token that a WebSocket takes fits an HTTP request, with as much again for other headers")
    func tokens() {
        #expect(FrameLimits.token + 8_192 <= RequestHead.longest)
        #expect(FrameLimits.token + 4_096 <= FrameLimits.frame)
    }

    @Test("a frame of the protocol is what the listener takes, and so is the body of a request")
    func frames() {
        #expect(listener.maxFrameBytes == FrameLimits.frame)
        #expect(HTTPRequest.longestBody == FrameLimits.frame)
        #expect(FrameLimits.reportError * 6 + 4_096 < HTTPRequest.longestBody)
    }

    @Test("the parts of a frame fit it, whatever they are together")
    func parts() {
        #expect(FrameLimits.content < FrameLimits.frame)
        #expect(FrameLimits.sdp + FrameLimits.target <= FrameLimits.content)
        #expect(FrameLimits.sdp + FrameLimits.custom <= FrameLimits.content)
        #expect(FrameLimits.resumeToken < FrameLimits.token)
        #expect(FrameLimits.pushTokens * (PushToken.longest + FrameLimits.topic) < FrameLimits.frame)
    }

    @Test("what may wait for one client is many frames, and holds all that a resume sends again")
    func queues() {
        let limits = CoreLimits()
        #expect(listener.maxQueuedBytes >= 8 * FrameLimits.frame)
        #expect(limits.replayBytes + FrameLimits.frame <= listener.maxQueuedBytes)
        #expect(limits.replayBytes >= FrameLimits.frame)
        #expect(limits.bufferedCandidateBytes <= limits.replayBytes)
    }

    @Test("a burst is longer than a second, and what is allowed before a session is part of what is allowed in one")
    func rates() {
        let limits = ConnectionLimits()
        #expect(limits.burst >= limits.messagesPerSecond)
        #expect(limits.beforeSession.burst < limits.burst)
        #expect(limits.beforeSession.messagesPerSecond < limits.messagesPerSecond)
        #expect(limits.beforeSession.refusalsUntilAbuse < limits.refusalsUntilAbuse)
    }

    @Test("times follow one upon the other: a request, its session, pings, and the core's patience")
    func times() {
        #expect(listener.requestTimeout <= listener.answerTimeout)
        #expect(CallResources.standardPatience < listener.answerTimeout)
        #expect(listener.pingTimeout < listener.pingInterval)
        #expect(ConnectionLimits().openWithin <= listener.pingInterval)
    }

    @Test("connections leave descriptors for the store, the pushes and the administrators, however few there are")
    func descriptors() {
        for limit in [300, 600, 1_024, 4_096, 65_536, 1_048_576] {
            let connections = DescriptorLimit.connections(within: limit)
            #expect(connections + WebSocketServer.reserve + 2 * 64 + 64 <= limit, "\(limit)")
            #expect(connections > 0)
        }
        #expect(DescriptorLimit.connections(within: 600) == 344)
        #expect(DescriptorLimit.connections(within: 1_024) == 768)
        let needed = DescriptorLimit.needed(forConnections: 100_000)
        #expect(DescriptorLimit.connections(within: needed) == 100_000)
    }
}
