import ByteMutation
import CallVocabulary
import Testing

@testable import CallCore

/// What one request of a client costs the core's thread, with the answers of the store that it needs.
@Suite("The worst requests")
struct WorstRequestTests {
    /// A request with a number of parts, in a world of its own.
    struct Request: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// The most parts, as a frame or the limits allow. Half of them must take at least 40 % of the time.
        let most: Int
        /// Makes the world, and what asks in it.
        let prepare: @Sendable (_ count: Int) -> (World, () -> Void)

        init(_ description: String, _ most: Int, _ prepare: @escaping @Sendable (Int) -> (World, () -> Void)) {
            (testDescription, self.most, self.prepare) = (description, most, prepare)
        }

        func cost(_ count: Int) -> Duration {
            let (world, ask) = prepare(count)
            let before = world.coreTime
            ask()
            // Steps that do not grow, such as a refusal, take up to that.
            return max(.microseconds(500), world.coreTime - before)
        }
    }

    private static func names(_ count: Int, areEqual: Bool = false) -> [Handle] {
        // Handles.
        (0..<count).map { Handle(areEqual ? "nobody" : "nobody\($0)")! }
    }

    private static func text(_ worst: WorstInput, _ count: Int) -> RawJSON {
        RawJSON(bytes: [UInt8(ascii: "\"")] + worst.bytes(count) + [UInt8(ascii: "\"")])
    }

    /// A call to one who is online, and to many names, that has begun.
    private static func list(_ count: Int) -> (World, Phone, CallID) {
        let (world, alice, bob) = World.pair()
        return (world, alice, alice.call(.users(names(count) + [bob.user])))
    }

    private static let lists: [Request] = [false, true].map { areEqual in
        Request("an invite to \(areEqual ? "equal" : "different") names", FrameLimits.handles - 1) { count in
            let (world, alice, bob) = World.pair()
            let target = CallTarget.users(names(count, areEqual: areEqual) + [bob.user])
            return (world, { alice.call(target) })
        }
    }

    private static let contents: [Request] = WorstInput.allCases.map { worst in
        Request("an invite with \(worst)", FrameLimits.custom - 2) { count in
            let (world, alice, bob) = World.pair()
            let content = text(worst, count)
            let invite = Invite(call: world.newCall(), to: .user(bob.user), sdp: content, custom: content)
            return (world, { alice.ask(.invite(invite)) })
        }
    }

    /// The other side of a call, for media.
    enum Side: CaseIterable {
        case ringing, asleep, answered, away
    }

    private static func talk(_ side: Side) -> (World, Phone, Phone, CallID) {
        let (world, alice, bob) = World.pair(bobIsAsleep: side == .asleep)
        let call = alice.call(bob)
        if side == .answered || side == .away { bob.answer(call) }
        if side == .away { bob.lose() }
        return (world, alice, bob, call)
    }

    private static let media: [Request] = Side.allCases.flatMap { side in
        // With a comma each, as many as a frame may contain.
        [
            Request("equal candidates, \(side)", FrameLimits.content / 2) { count in
                let (world, alice, _, call) = talk(side)
                let candidates = Array(repeating: "1", count: count)
                return (world, { alice.send(candidates, of: call) })
            },
            Request("different candidates, \(side)", FrameLimits.content / 6) { count in
                let (world, alice, _, call) = talk(side)
                let candidates = (0..<count).map { "\(10_000 + $0)" }
                return (world, { alice.send(candidates, of: call) })
            },
            Request("as many candidates as are kept, \(side)", CoreLimits().bufferedCandidates) { count in
                let (world, alice, _, call) = talk(side)
                let candidates = (0..<count).map { "\(10_000 + $0)" }
                return (
                    world,
                    {
                        alice.send(candidates, of: call)
                        alice.send(candidates, of: call, final: true)
                    }
                )
            },
            Request("an update, \(side)", FrameLimits.custom - 2) { count in
                let (world, alice, _, call) = talk(side)
                let content = text(.marks, count)
                let update = CallUpdate(call: call, kind: .info, sdp: content, custom: content)
                return (world, { alice.ask(.update(update)) })
            },
        ]
    }

    private static let others: [Request] = [
        Request("requests about a call to a list", FrameLimits.handles - 1) { count in
            let (world, alice, call) = list(count)
            let report = PushReport(push: world.newPush(), call: call, result: .failed, error: "unknown")
            let requests: [ClientRequest] = [
                .ringing(call), .answer(call, sdp: nil), .decline(call, .declined), .connected(call), .get(call),
                .report(report), .hangup(call, .hangup),
            ]
            return (world, { for request in requests { alice.ask(request) } })
        },
        // Few of them: a larger list is the work itself, a leg and an event for each. See `crowds`.
        Request("an invite to users who are online, and its end", 100) { count in
            let world = World()
            let (alice, users) = (world.online("alice"), (0..<count).map { world.online("user\($0)").user })
            return (world, { alice.hangUp(alice.call(.users(users))) })
        },
        Request("an answer", FrameLimits.sdp) { count in
            let (world, alice, bob) = World.pair()
            let (call, sdp) = (alice.call(bob), text(.marks, count))
            return (world, { bob.ask(.answer(call, sdp: sdp)) })
        },
        Request("device.update", FrameLimits.pushTokens) { count in
            let world = World()
            let alice = world.online("alice")
            let tokens = (0..<count).map { PushToken.voip("\($0)".padded(to: PushToken.longest)) }
            return (world, { alice.ask(.updateDevice(push: tokens)) })
        },
        Request("call.list", CoreLimits().liveCallsPerUser) { count in
            let (world, alice) = caller(of: count)
            return (world, { alice.ask(.list(after: nil, limit: FrameLimits.listedCalls)) })
        },
        Request("session.logout amid calls", CoreLimits().liveCallsPerUser) { count in
            let (world, alice) = caller(of: count)
            return (world, { alice.ask(.logout) })
        },
        Request("session.close and session.state amid calls", CoreLimits().liveCallsPerUser) { count in
            let (world, alice) = caller(of: count)
            return (
                world,
                {
                    alice.ask(.state(.background))
                    alice.ask(.close)
                }
            )
        },
        Request("missed.clear", CoreLimits().missedPerUser) { count in
            let world = World()
            let (alice, bob) = (world.online("alice"), world.asleep("bob", pushable: false))
            for _ in 0..<count {
                world.advance(.milliseconds(1))
                alice.call(bob)
            }
            bob.open()
            let now = world.now
            return (world, { bob.ask(.clearMissed(upTo: now)) })
        },
        Request("a resumed session", CoreLimits().replayEvents / 2) { count in
            let (world, alice, bob, call) = talk(.away)
            update(call, by: alice, count)
            return (world, { bob.resume() })
        },
        Request("session.ack", CoreLimits().replayEvents / 2) { count in
            let (world, alice, bob, call) = talk(.answered)
            update(call, by: alice, count)
            return (world, { bob.ack() })
        },
    ]

    /// To as many users as a call may reach. Each is a leg, a record, and an event or a push.
    private static let crowds: [Request] = [false, true].flatMap { areAsleep -> [Request] in
        let most = min(FrameLimits.handles, CoreLimits().legsPerCall)
        let words = areAsleep ? "asleep" : "online"
        return [
            Request("an invite to users who are \(words)", most) { count in
                let (world, alice, users) = crowd(count, areAsleep: areAsleep)
                return (world, { alice.call(users) })
            },
            Request("candidates for users who are \(words), and the end of the call", most) { count in
                let (world, alice, users) = crowd(count, areAsleep: areAsleep)
                let call = alice.call(users)
                #expect(world.core.liveCalls == 1)
                return (
                    world,
                    {
                        alice.send(["1", "2"], of: call)
                        alice.hangUp(call)
                    }
                )
            },
        ]
    }

    private static func crowd(_ count: Int, areAsleep: Bool) -> (World, Phone, CallTarget) {
        let world = World()
        let alice = world.online("alice")
        let users = (0..<count).map { number -> Handle in
            let phone = areAsleep ? world.asleep("user\(number)") : world.online("user\(number)")
            return phone.user
        }
        return (world, alice, .users(users))
    }

    private static func update(_ call: CallID, by phone: Phone, _ count: Int) {
        for number in 0..<count {
            phone.ask(.update(CallUpdate(call: call, kind: .info, custom: RawJSON("\(number)"))))
        }
    }

    /// One who has placed so many live calls, of which ten ring at each of the others.
    private static func caller(of count: Int) -> (World, Phone) {
        let world = World()
        let alice = world.online("alice")
        for number in 0..<count {
            if number % 10 == 0 { world.online("other\(number / 10)") }
            alice.call(.user(Handle("other\(number / 10)")!))  // A handle.
        }
        #expect(world.core.liveCalls == count)
        return (world, alice)
    }

    @Test("cost as much as they are long, and little at their greatest", arguments: lists + contents + media + others)
    func cost(_ request: Request) {
        var best = (half: Duration.seconds(1000), whole: Duration.seconds(1000))
        for run in 1...60 {
            best.half = min(best.half, request.cost(request.most / 2))
            best.whole = min(best.whole, request.cost(request.most))
            if run >= 2, best.whole <= best.half * WorstInput.mostGrowth, best.whole <= WorstInput.mostTime { break }
        }
        #expect(best.whole <= best.half * WorstInput.mostGrowth, "\(best.half) and \(best.whole)")
        #expect(best.whole <= WorstInput.mostTime)
    }

    @Test("cost as much as a call reaches users, however many they are", arguments: crowds)
    func reaching(_ request: Request) {
        var best = (half: Duration.seconds(1000), whole: Duration.seconds(1000))
        for run in 1...20 {
            best.half = min(best.half, request.cost(request.most / 2))
            best.whole = min(best.whole, request.cost(request.most))
            if run >= 2, best.whole <= best.half * WorstInput.mostGrowth { break }
        }
        #expect(best.whole <= best.half * WorstInput.mostGrowth, "\(best.half) and \(best.whole)")
    }
}
