import CallCore
import CallVocabulary
import ClientTokens
import Dispatch
import EventJournal
import EventLoop
import LibWebSockets
import Synchronization
import TestCleanup
import Testing
import WebSocketServer

@testable import CallServer

@Suite("A shard between its clients and the core", .cleanup, .timeLimit(.minutes(5)))
struct SignalShardTests {
    /// A real listener with one shard, and a mailbox in place of the core. It is not drained until its loop is started.
    private final class World: Sendable {
        let harness: ServerHarness
        let server: WebSocketServer
        let coreLoop: EventLoop
        let core: Mailbox<CoreInput>
        let inputs = Journal<CoreInput>()
        let shard = Mutex<Mailbox<ShardMessage>?>(nil)
        /// The age of the oldest commit. Above ``CallAdmission/commit`` the server is overloaded.
        let commitWait = CommitWait()
        let clientLoop: EventLoop
        let context: LoopBound<LWSContext>
        let url: WebSocketURL

        init(room: Int) async throws {
            harness = try await ServerHarness()
            coreLoop = try EventLoop(name: "core")
            core = Mailbox(loop: coreLoop, capacity: room) { [inputs] in for input in $0 { inputs.append(input) } }
            let configuration = ServerConfiguration(address: .anyPort, data: harness.folder, shards: 1)
            let (parts, core, shard, commitWait) = (harness.parts, core, ShardSlot(), commitWait)
            server = try WebSocketServer(configuration: WebSocketServer.Configuration(address: .anyPort)) {
                index, loop in
                let plain = parts.environment(configuration, index, loop)
                let signal = SignalShard(
                    environment: SignalShard.Environment(
                        shard: index, loop: loop, core: core, commitWait: { commitWait.value.withLock { $0 } },
                        tokens: plain.tokens,
                        turn: plain.turn, routes: plain.routes, signInSecret: plain.signInSecret,
                        backends: plain.backends,
                        clock: plain.clock,
                        welcome: plain.welcome,
                        limits: plain.limits, counters: plain.counters, rates: plain.rates, sessions: plain.sessions,
                        push: plain.push, log: plain.log))
                shard.mailbox.withLock {
                    $0 = Mailbox(loop: loop, capacity: 100) { [weak signal] in signal?.receive(&$0) }
                }
                return signal
            }
            let bound = try await server.start()
            self.shard.withLock { $0 = shard.mailbox.withLock { $0 } }
            url = WebSocketURL(isSecure: false, host: "127.0.0.1", port: bound.port, path: "/v1/signal")
            let loop = try EventLoop.started("client")
            clientLoop = loop
            // The loop was started above.
            context = try await loop.run {
                Result { LoopBound(try LWSContext(loop: loop, role: .client(.system)), on: loop) }
            }!.get()
            atEnd { [self] in
                clientLoop.execute { [context] in context.value.destroy() }
                await clientLoop.stopAndWait()
                await server.stop(closeCode: 3000, reason: "", grace: .milliseconds(100))
                await coreLoop.stopAndWait()
            }
        }

        final class CommitWait: Sendable {
            let value = Mutex<Duration?>(nil)
        }

        private final class ShardSlot: Sendable {
            let mailbox = Mutex<Mailbox<ShardMessage>?>(nil)
        }

        /// A client that records its events.
        func connect() async throws -> (LoopBound<WebSocketClientConnection>, Journal<String>) {
            let frames = Journal<String>()
            let client = await clientLoop.run { [self] in
                LoopBound(
                    WebSocketClientConnection.connect(context: context.value, url: url, subprotocol: "reveille.v1") {
                        if case .received(let text) = $0 { frames.append(String(decoding: text, as: UTF8.self)) }
                        if case .closed(let code, _) = $0 { frames.append("closed \(code ?? 0)") }
                    }, on: clientLoop)
            }!
            try await frames.wait(for: "welcome") { $0.first?.contains("welcome") == true }
            return (client, frames)
        }

        func send(_ texts: [String], by client: LoopBound<WebSocketClientConnection>) async {
            _ = await clientLoop.run { for text in texts { client.value.send(Array(text.utf8)) } }
        }

        /// Asks for a session: the token is valid, and the core is informed.
        func ask(_ client: LoopBound<WebSocketClientConnection>) async throws {
            let token = try await mint()
            let before = core.count
            await send([Self.opening(token, .random())], by: client)
            await Self.eventually { core.count > before }
            #expect(core.count == before + 1)
        }

        /// Opens a session: the core's answer is the client's second frame.
        func open(
            _ client: LoopBound<WebSocketClientConnection>, _ frames: Journal<String>, serial: UInt64 = 1
        ) async throws {
            try await ask(client)
            tell([.send(serial, .reply(.number(0), .opened(Self.opened)))])
            try await frames.wait(for: "the session") { $0.count == 2 }
        }

        static var opened: SessionOpened {
            SessionOpened(
                // The literal is a handle.
                session: .random(), user: Handle("alice")!, resumeToken: "r", resumeWindow: .seconds(30),
                resumed: false, calls: [], missed: [])
        }

        /// Waits until `condition` holds, for a limited time.
        static func eventually(_ condition: () -> Bool) async {
            let deadline = ContinuousClock.now + .seconds(40)
            while !condition(), ContinuousClock.now < deadline { await Task.yield() }
        }

        func mint(device: DeviceID? = nil) async throws -> String {
            // The literal is a handle.
            try await harness.parts.tokens.mint(user: Handle("alice")!, lifetime: .seconds(600), device: device)
        }

        static func opening(_ token: String, _ device: DeviceID) -> String {
            let parameters = #"{"token":"\#(token)","device":{"id":"\#(device)","platform":"desktop"}}"#
            return #"{"jsonrpc":"2.0","id":0,"method":"session.open","params":\#(parameters)}"#
        }

        func tell(_ messages: [ShardMessage]) { #expect(shard.withLock { $0?.post(contentsOf: messages) } == true) }
    }

    private func get(_ request: Int, _ call: CallID) -> String {
        #"{"jsonrpc":"2.0","id":\#(request),"method":"call.get","params":{"call_id":"\#(call)"}}"#
    }

    @Test("over a limit each refused client gets another time to wait")
    func spreadRefusals() async throws {
        let world = try await World(room: 100)
        let limiter = world.harness.parts.rates[.opensPerUser]
        limiter.setRate(perMinute: 1)
        // The literal is a handle.
        let key = RateLimiter.Key(Handle("alice")!)
        let now = await world.clientLoop.run { [loop = world.clientLoop] in Int64(loop.milliseconds) } ?? 0
        for _ in 0..<900 { _ = limiter.take(key, now: now) }
        let (client, frames) = try await world.connect()
        await world.send([World.opening(try await world.mint(), .random())], by: client)
        try await frames.wait(for: "a refusal") { $0.contains { $0.contains("rate_limited") } }
        let refusal = try #require(frames.entries.last)
        let wait = refusal.firstMatch(of: /"retry_after_ms":(\d+)/).flatMap { Int($0.output.1) }
        // Without the spread, a minute at most.
        #expect(try #require(wait) > 60_000, "\(refusal)")
    }

    @Test("messages beyond the core's capacity are refused one by one, and the others arrive in order")
    func full() async throws {
        let world = try await World(room: 3)
        let (client, frames) = try await world.connect()
        try await world.open(client, frames)
        let calls = (1...4).map { _ in CallID.random() }
        let candidates =
            #"{"jsonrpc":"2.0","method":"call.candidates","params":{"call_id":"\#(calls[0])","candidates":[]}}"#
        await world.send((1...4).map { get($0, calls[$0 - 1]) } + [candidates], by: client)
        try await frames.wait(for: "two refusals") { $0.count { $0.contains("overloaded") } == 2 }
        #expect(frames.entries.dropFirst(2).allSatisfy { $0.contains(#""code":"overloaded","retry_after_ms":1000"#) })
        #expect(frames.entries[2].contains(#""id":3,"#) && frames.entries[3].contains(#""id":4,"#))
        let counters = world.harness.parts.counters
        await World.eventually { counters.drops(.overloaded) > 0 }
        #expect(counters.drops(.overloaded) == 1)
        #expect(world.core.refused == 3)
        world.coreLoop.start()
        try await world.inputs.wait(for: "what there was room for") { $0.count == 3 }
        let id = ConnectionID(shard: 0, serial: 1)
        #expect(
            world.inputs.entries.dropFirst() == [
                .client(.requested(id, .number(1), .get(calls[0]))),
                .client(.requested(id, .number(2), .get(calls[1]))),
            ])
    }

    @Test("no id that a client chooses has another answer taken for that of session.open, and each end is told")
    func ids() async throws {
        let world = try await World(room: 100)
        world.coreLoop.start()
        let (client, frames) = try await world.connect()
        let opening = World.opening(try await world.mint(), .random())
        let state = #"{"jsonrpc":"2.0","id":0,"method":"session.state","params":{"app":"background"}}"#
        let wasRefused = ShardMessage.send(1, .error(.number(0), SignalError(.internalError, "full")))
        func asked(_ count: Int) async throws {
            try await world.inputs.wait(for: "session.open") { $0.count == count }
        }
        await world.send([opening], by: client)
        try await asked(1)
        world.tell([wasRefused])
        try await frames.wait(for: "the refusal") { $0.count == 2 }
        // A client may ask again, and until it has a session nothing else reaches the core.
        await world.send([state, opening, state], by: client)
        try await asked(2)
        try await frames.wait(for: "two refusals") { $0.count { $0.contains("unauthenticated") } == 2 }
        world.tell([wasRefused])
        try await frames.wait(for: "the refusal") { $0.count == 5 }
        await world.send([World.opening("x.y.z", .random())], by: client)
        try await world.inputs.wait(for: "the end") { $0.count == 3 }
        let inputs = world.inputs.entries
        #expect(inputs[2] == .connectionLost(ConnectionID(shard: 0, serial: 1)), "\(inputs)")
    }

    @Test("an overloaded server refuses a new call, and accepts answers and hang-ups of existing calls")
    func overload() async throws {
        let world = try await World(room: 100)
        let (client, frames) = try await world.connect()
        try await world.open(client, frames)
        world.coreLoop.start()
        world.commitWait.value.withLock { $0 = .seconds(1) }
        let call = CallID.random()
        let parameters = #"{"call_id":"\#(call)","to":"bob"}"#
        let invite = #"{"jsonrpc":"2.0","id":1,"method":"call.invite","params":\#(parameters)}"#
        let others = ["answer", "hangup"].enumerated().map { id, method in
            #"{"jsonrpc":"2.0","id":\#(id + 2),"method":"call.\#(method)","params":{"call_id":"\#(call)"}}"#
        }
        await world.send([invite] + others, by: client)
        try await world.inputs.wait(for: "answer and hang-up") { $0.count == 3 }
        try await frames.wait(for: "the refusal") { $0.count == 3 }
        #expect(frames.entries[2].contains(#""id":1,"#))
        #expect(frames.entries[2].contains(#""code":"overloaded","retry_after_ms":1001"#))
        world.commitWait.value.withLock { $0 = nil }
        await world.send([invite], by: client)
        try await world.inputs.wait(for: "the invite") { $0.count == 4 }
    }

    @Test("relayed content reaches the core in memory that the shard reuses")
    func payloads() async throws {
        let world = try await World(room: 100)
        let (client, frames) = try await world.connect()
        try await world.open(client, frames)
        world.coreLoop.start()
        let call = CallID.random()
        let batch = CallCandidates(call: call, candidates: [RawJSON(bytes: Array("1".utf8))])
        let update = CallUpdate(call: call, kind: .offer, sdp: RawJSON(bytes: Array("\"v=0\"".utf8)))
        await world.send(
            [
                #"{"jsonrpc":"2.0","method":"call.candidates","params":{"call_id":"\#(call)","candidates":[1]}}"#,
                #"{"jsonrpc":"2.0","id":1,"method":"call.update","params":{"call_id":"\#(call)","kind":"offer","sdp":"v=0"}}"#,
            ], by: client)
        try await world.inputs.wait(for: "both") { $0.count == 3 }
        let inputs = world.inputs.entries
        guard case .client(.notified(_, _, .candidates(let sent))) = inputs[1],
            case .client(.requested(_, _, .call(.update(let asked)))) = inputs[2]
        else {
            Issue.record("\(inputs)")
            return
        }
        #expect(sent == batch && asked == update)
        // A new array for this little content would have a smaller capacity.
        #expect(sent.candidates.bytes.capacity >= 256 && (asked.sdp?.bytes.capacity ?? 0) >= 256)
    }

    @Test("a token that names a device opens no session of another, neither at first nor when cached")
    func boundToken() async throws {
        let world = try await World(room: 100)
        world.coreLoop.start()
        let device = DeviceID(high: 1, low: 2)
        let token = try await world.mint(device: device)
        for id in [DeviceID(high: 3, low: 4), device, DeviceID(high: 3, low: 4), device] {
            let (client, frames) = try await world.connect()
            let opened = world.inputs.entries.count { if case .client(.opened) = $0 { true } else { false } }
            await world.send([World.opening(token, id)], by: client)
            if id == device {
                try await world.inputs.wait(for: "the session") {
                    $0.count { if case .client(.opened) = $0 { true } else { false } } == opened + 1
                }
            } else {
                try await frames.wait(for: "closed \(CloseCode.badToken.rawValue)")
                #expect(frames.entries.contains { $0.contains("The token is for another device: \(device).") })
                #expect(world.inputs.entries.count { if case .client(.opened) = $0 { true } else { false } } == opened)
            }
        }
    }

    @Test("each session.open that is refused is counted once, whatever is wrong with it")
    func countedRefusals() async throws {
        let world = try await World(room: 100)
        let token = try await world.mint()
        let valid = World.opening(token, .random())
        let push =
            #"{"provider":"apns","kind":"voip","environment":"sandbox","topic":"a.voip","token":"0123456789abcdef"}"#
        func pushing(_ push: String) -> String { valid.replacing(#","device""#, with: #","push":[\#(push)],"device""#) }
        let faulty = [
            #"{"jsonrpc":"2.0","id":0,"method":"session.open","params":{"token":"\#(token)"}}"#,
            World.opening(String(repeating: "t", count: 17_000), .random()), pushing("5"),
            pushing(push.replacing("}", with: #","profile":"none"}"#)),
            valid.replacing("session.open", with: "session.begin"), String(valid.dropLast()), "[]",
        ]
        let counters = world.harness.parts.sessions.counters
        func count(_ outcome: SessionOutcome) -> UInt64 { counters.opens.first { $0.outcome == outcome }?.count ?? 0 }
        for (index, frame) in faulty.enumerated() {
            let (client, frames) = try await world.connect()
            await world.send([frame], by: client)
            try await frames.wait(for: "a refusal") { $0.count == 2 }
            #expect(count(.invalid) == UInt64(index + 1), "\(frame.prefix(200))")
        }
        // Before a session, the burst is 20, and two more are admitted each second.
        let (client, frames) = try await world.connect()
        await world.send((1...26).map { get($0, .random()) } + [valid], by: client)
        try await frames.wait(for: "all refusals") { $0.count == 28 }
        #expect(frames.entries[27].contains("rate_limited") && count(.rateLimited) == 1, "\(frames.entries[27])")
        // A session has other counters.
        let (guest, guests) = try await world.connect()
        try await world.open(guest, guests, serial: UInt64(faulty.count) + 2)
        await world.send(["[]"], by: guest)
        try await guests.wait(for: "the error") { $0.count == 3 }
        #expect(count(.invalid) == UInt64(faulty.count))
    }

    @Test("frames are no longer than a session.open until one had a valid token and no other fault")
    func longFrames() async throws {
        let world = try await World(room: 100)
        let (client, frames) = try await world.connect()
        let token = try await world.mint()
        let push =
            #"{"provider":"apns","kind":"voip","environment":"sandbox","topic":"a.voip","token":"0123456789abcdef","profile":"none"}"#
        let faulty = World.opening(token, .random()).replacing(#","device""#, with: #","push":[\#(push)],"device""#)
        let long = get(1, .random()) + String(repeating: " ", count: FrameLimits.opening)
        await world.send([faulty], by: client)
        try await frames.wait(for: "a refusal") { $0.contains { $0.contains("push[0].profile") } }
        await world.send([long], by: client)
        try await frames.wait(for: "the end") { $0.count == 3 }
        #expect(frames.entries[2].hasPrefix("closed"))
        let (other, others) = try await world.connect()
        try await world.open(other, others, serial: 2)
        world.coreLoop.start()
        await world.send([long], by: other)
        try await world.inputs.wait(for: "the long frame") {
            $0.contains { if case .client(.requested(_, .number(1), .call(.get))) = $0 { true } else { false } }
        }
    }

    @Test("what a new session is told at once waits until its client reads, and closes no connection")
    func pacedOpening() async throws {
        let world = try await World(room: 100)
        let (client, frames) = try await world.connect()
        try await world.ask(client)
        // The literals are handles.
        let (alice, bob) = (Handle("alice")!, Handle("bob")!)
        let sdp = RawJSON(bytes: Array("\"\(String(repeating: "s", count: 60_000))\"".utf8))
        let offer = IncomingCall(
            call: .random(), from: bob, fromName: nil, to: .user(alice), video: false, sdp: sdp, candidates: [],
            custom: nil, expiresAt: Instant(milliseconds: 0), push: nil)
        // Meanwhile the client reads nothing.
        let gate = DispatchSemaphore(value: 0)
        world.clientLoop.execute { gate.wait() }
        world.tell(
            [.send(1, .reply(.number(0), .opened(World.opened)))]
                + (1...90).map { .send(1, .event(seq: UInt64($0), .incoming(offer))) })
        await World.eventually { world.server.statistics.shards[0].unreadBytes > 0 }
        gate.signal()
        try await frames.wait(for: "the result and all events, or the end") {
            $0.count == 92 || $0.last?.hasPrefix("closed") == true
        }
        #expect(frames.entries.dropFirst(2).allSatisfy { $0.contains("call.incoming") })
        #expect(world.server.statistics.shards[0].slowConsumers == 0)
    }

    @Test("a removed key ends the connections of its tokens, and no others")
    func removedKey() async throws {
        let world = try await World(room: 100)
        let (client, frames) = try await world.connect()
        let (_, others) = try await world.connect()
        try await world.open(client, frames)
        let stranger = TokenVerifier(secrets: [TokenSecret(Array(repeating: 7, count: 32))]).fingerprints
        let present = world.harness.parts.tokens.verifier.fingerprints
        world.tell([.keysChanged(present.union(stranger)), .send(1, .reply(.number(1), .done))])
        try await frames.wait(for: "it is still there") { $0.count == 3 }
        world.tell([.keysChanged(stranger), .send(2, .reply(.number(2), .done))])
        try await frames.wait(for: "closed \(CloseCode.badToken.rawValue)")
        try await others.wait(for: "no session, no key") { $0.count == 2 }
        #expect(others.entries.allSatisfy { !$0.contains("closed") })
    }

    @Test("beyond the rate, each frame with an id is answered, also a faulty one; others are dropped")
    func answersBeyondTheRate() async throws {
        let world = try await World(room: 100)
        let (client, frames) = try await world.connect()
        let call = CallID.random()
        // Before a session, the burst is 20.
        await world.send((1...20).map { get($0, call) }, by: client)
        try await frames.wait(for: "the burst") { $0.count == 21 }
        let beyond = [
            get(21, call), #"{"jsonrpc":"2.0","id":22,"method":"call.none","params":{}}"#,
            #"{"jsonrpc":"2.0","id":23,"method":"call.get","params":{"call_id":7}}"#,
            #"{"jsonrpc":"2.0","id":"24","method":"call.get"}"#, #"{"jsonrpc":"1.0","id":25,"method":"call.get"}"#,
            #"{"jsonrpc":"2.0","id":26,"method":"call.ringing","params":{"call_id":"\#(call)"}}"#,
            #"{"jsonrpc":"2.0","method":"call.ringing","params":{"call_id":"\#(call)"}}"#, "nonsense",
        ]
        // All at once: two more are admitted each second.
        await world.send(beyond + beyond, by: client)
        try await frames.wait(for: "the answers") { $0.count >= 21 + 12 }
        let answers = frames.entries.dropFirst(21).filter { $0.contains(#""code":"rate_limited""#) }
        for id in ["21", "22", "23", #""24""#, "25", "26"] {
            #expect(answers.contains { $0.contains(#""id":\#(id),"#) }, "\(id): \(answers)")
        }
        let counters = world.harness.parts.counters
        await World.eventually { counters.drops(.rateLimited) >= 2 }
        #expect(counters.drops(.rateLimited) >= 2)
    }

    @Test("each client gets all messages in order, and a close after earlier messages")
    func delivery() async throws {
        let world = try await World(room: 100)
        world.coreLoop.start()
        let (_, one) = try await world.connect()
        let (_, other) = try await world.connect()
        let long = SignalError(.internalError, String(repeating: "x", count: 20_000))
        world.tell([
            .send(1, .reply(.number(1), .won)), .send(2, .reply(.number(2), .done)), .send(1, .error(.number(3), long)),
            .send(9, .reply(.number(4), .done)), .send(1, .reply(.number(5), .done)), .disconnect(2, .shutdown),
            .send(2, .reply(.number(6), .done)), .send(1, .reply(.number(7), .done)),
        ])
        try await one.wait(for: "all of it") { $0.count == 5 }
        let numbers = one.entries.dropFirst().map { $0.prefix(24) }
        #expect(numbers == [1, 3, 5, 7].map { #"{"jsonrpc":"2.0","id":\#($0),"# })
        #expect(one.entries[2].utf8.count > 20_000)
        try await other.wait(for: "its end") { $0.count == 3 }
        #expect(other.entries.dropFirst() == [#"{"jsonrpc":"2.0","id":2,"result":{}}"#, "closed 3000"])
    }
}
