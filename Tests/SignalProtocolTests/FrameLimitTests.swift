import CallVocabulary
import SignalProtocol
import Testing

/// What is let in can be passed on in one frame, at its worst.
struct FrameLimitTests {
    /// Takes the most room a handle can: each byte is escaped.
    private let widest = Samples.handle(String(repeating: "\"", count: Handle.longest))
    private let later = Instant(milliseconds: 1 << 53 - 1)

    private func size(_ message: ServerMessage) -> Int {
        var frame: [UInt8] = []
        SignalEncoder.encode(message, now: Instant(milliseconds: 0), into: &frame)
        return frame.count
    }

    private func string(_ count: Int) -> RawJSON {
        RawJSON(bytes: [0x22] + Array(repeating: 0x78, count: count - 2) + [0x22])
    }

    private func incoming(candidates: [RawJSON], sdp: Int = 32_770, custom: Int = 16_384) -> IncomingCall {
        let content = FrameLimits.content - sdp - custom
        // A list that fills what sdp and custom leave.
        let handles = Array(repeating: Samples.handle(String(repeating: "h", count: 97)), count: (content - 2) / 100)
        return IncomingCall(
            call: Samples.call, from: widest, fromName: String(repeating: "\u{1}", count: 5000), to: .users(handles),
            video: false, sdp: string(sdp), candidates: candidates, custom: string(custom), expiresAt: later,
            push: Samples.push)
    }

    @Test("the largest invite fits into call.incoming")
    func largestInvite() {
        let incoming = incoming(candidates: [])
        #expect(incoming.events(candidatesAreFinal: false) == [.incoming(incoming)])
        #expect(size(.event(seq: .max, .incoming(incoming))) <= FrameLimits.frame)
    }

    @Test("candidates that do not fit follow as call.candidates, in order and none lost")
    func overflow() {
        let candidates = (0..<300).map { Samples.raw("\"\(String(repeating: "c", count: 500))\($0)\"") }
        var call = incoming(candidates: candidates, sdp: 20_000, custom: 2)
        call.to = .user(widest)
        let events = call.events(candidatesAreFinal: true)
        #expect(events.count == 3)
        var seen: [RawJSON] = []
        for (index, event) in events.enumerated() {
            #expect(size(.event(seq: .max, event)) <= FrameLimits.frame)
            switch event {
            case .incoming(let first):
                #expect(index == 0)
                #expect(!first.candidates.isEmpty)
                seen += first.candidates
            case .candidates(let batch):
                #expect(batch.isFinal == (index == events.count - 1))
                seen += batch.candidates
            case .state, .ended, .update, .peer, .draining:
                Issue.record("unexpected \(event)")
            }
        }
        #expect(seen == candidates)
    }

    @Test("a later small candidate does not overtake one that did not fit")
    func order() {
        let candidates = [string(100), string(FrameLimits.content - 1), string(10)]
        let events = incoming(candidates: candidates, sdp: 2, custom: 2).events(candidatesAreFinal: false)
        let rest = events.dropFirst().map { event -> [RawJSON] in
            if case .candidates(let batch) = event { Array(batch.candidates) } else { [] }
        }
        #expect(rest == [[candidates[0]], [candidates[1]], [candidates[2]]])
        #expect(events.allSatisfy { size(.event(seq: .max, $0)) <= FrameLimits.frame })
    }

    @Test("that no more candidates come is said even when all fitted")
    func finalOnly() {
        var incoming = Samples.incoming
        #expect(
            incoming.events(candidatesAreFinal: true)
                == [
                    .incoming(incoming), .candidates(CallCandidates(call: Samples.call, candidates: [], isFinal: true)),
                ])
        incoming.candidates = []
        #expect(incoming.events(candidatesAreFinal: false) == [.incoming(incoming)])
    }

    private var largestSnapshot: CallSnapshot {
        var call = Samples.full
        call.from = widest
        call.by = Party(user: widest, device: Samples.device)
        // 245 × 100 bytes: as much as `to` may take.
        call.to = .users(Array(repeating: Samples.handle(String(repeating: "h", count: 97)), count: 245))
        call.sdp = string(32_770)
        call.createdAt = later
        call.expiresAt = later
        return call
    }

    @Test("the largest snapshot fits a frame and is not larger than it is taken for")
    func largestSnapshotFits() {
        let call = largestSnapshot
        #expect(size(.reply(.number(.min), .call(call))) <= FrameLimits.frame)
        var frame: [UInt8] = []
        SignalEncoder.encode(.call(call), now: Instant(milliseconds: 0), into: &frame)
        #expect(frame.count <= call.wireBytes)
        #expect(call.wireBytes <= FrameLimits.content)
    }

    @Test("a snapshot is taken for little more than it is, whatever it has")
    func snapshotSizes() {
        var bare = Samples.bare
        (bare.createdAt, bare.role) = (later, .callee)
        var calls = [bare]
        for change in [
            { $0.expiresAt = later }, { $0.answeredAt = later }, { $0.connectedAt = later }, { $0.endedAt = later },
            { $0.lostAt = later }, { $0.peerAwaySince = later }, { $0.reason = .declinedElsewhere },
            { $0.push = Samples.push },
            { $0.by = Party(user: widest, device: Samples.device) }, { $0.mergedInto = Samples.call },
            { $0.fromName = "\u{1}" }, { $0.sdp = string(100) }, { $0.custom = string(100) },
            { $0.to = .group("sales") }, { $0.from = widest },
        ] as [(inout CallSnapshot) -> Void] {
            var call = bare
            change(&call)
            calls.append(call)
        }
        for call in calls + [Samples.full, Samples.answered, largestSnapshot] {
            var frame: [UInt8] = []
            SignalEncoder.encode(.call(call), now: Instant(milliseconds: 0), into: &frame)
            // With the comma behind it in a list.
            #expect(frame.count < call.wireBytes && frame.count > call.wireBytes - 250, "\(call)")
        }
        let missed = MissedCall(
            call: Samples.call, from: widest, fromName: "\u{1}", at: later, reason: .declinedElsewhere, video: false)
        let opened = SessionOpened(
            session: Samples.session, user: Samples.alice, resumeToken: "r", resumeWindow: .seconds(30), resumed: false,
            calls: [], missed: [missed, missed])
        var without = opened
        without.missed = [missed]
        let bytes = size(.reply(.number(1), .opened(opened))) - size(.reply(.number(1), .opened(without)))
        #expect(bytes <= missed.wireBytes && bytes > missed.wireBytes - 40)
    }

    @Test("session.open's result is made to fit: first without lists and sdp, then without the oldest missed calls")
    func openedFits() {
        let missed = (0..<200).map { number in
            MissedCall(
                call: Samples.call, from: widest, at: Instant(milliseconds: Int64(number)), reason: .answeredElsewhere,
                video: false)
        }
        var opened = SessionOpened(
            session: Samples.session, user: widest, resumeToken: String(repeating: "t", count: FrameLimits.resumeToken),
            resumeWindow: .seconds(30), resumed: false, calls: [Samples.full, largestSnapshot, largestSnapshot],
            missed: missed,
            iceServers: [
                ICEServer(
                    urls: [String(repeating: "u", count: FrameLimits.iceURLs)], username: "99999999999:\(widest)",
                    credential: String(repeating: "c", count: 28), expiresAt: Instant(milliseconds: .max))
            ], webPushKey: String(repeating: "k", count: 87))
        opened.fitToFrame()
        #expect(size(.reply(.number(.min), .opened(opened))) <= FrameLimits.frame)
        #expect(opened.calls.count == 3)
        #expect(opened.calls.allSatisfy { $0.sdp == nil })
        #expect(!opened.missed.isEmpty)
        #expect(opened.missed == Array(missed.suffix(opened.missed.count)))

        opened.calls = Array(repeating: largestSnapshot, count: 9)
        opened.fitToFrame()
        #expect(size(.reply(.number(.min), .opened(opened))) <= FrameLimits.frame)
        #expect(opened.calls.count == 9)
        #expect(opened.calls.allSatisfy { $0.to.wireBytes < 200 && $0.toCount == 950 && $0.sdp == nil })

        opened.calls = Array(repeating: largestSnapshot, count: 200)
        opened.fitToFrame()
        #expect(size(.reply(.number(.min), .opened(opened))) <= FrameLimits.frame)
        #expect((10..<200).contains(opened.calls.count))

        var small = opened
        small.calls = [Samples.full]
        small.missed = Array(missed.prefix(3))
        let before = small
        small.fitToFrame()
        #expect(small == before)
    }

    @Test("what rings at a device loses its content before the calls of the device, and does not take their place")
    func offersGiveWay() {
        var party = largestSnapshot
        (party.role, party.state, party.to, party.toCount) = (.callee, .answered, .user(Samples.alice), nil)
        var offer = largestSnapshot
        (offer.role, offer.state, offer.toCount) = (.callee, .ringing, nil)
        for count in [2, 300] {
            var opened = SessionOpened(
                session: Samples.session, user: Samples.alice, resumeToken: "r", resumeWindow: .seconds(30),
                resumed: false, calls: [party] + Array(repeating: offer, count: count), missed: [])
            opened.fitToFrame()
            #expect(size(.reply(.number(.min), .opened(opened))) <= FrameLimits.frame)
            #expect(opened.calls.first?.state == .answered)
            if count == 2 { #expect(opened.calls.first == party && opened.calls.count == 3) }
            #expect(opened.calls.dropFirst().allSatisfy { $0.toCount == 245 && $0.sdp == nil })
        }
    }

    @Test("one page of call.list takes as many calls as fit, and at least one")
    func pageFits() {
        let calls = Array(repeating: largestSnapshot, count: 3)
        #expect(calls.prefixThatFitsFrame.count == 1)
        // As most calls of a history are.
        var usual = Samples.bare
        (usual.state, usual.reason) = (.ended, .answeredElsewhere)
        usual.by = Party(user: Samples.alice, device: Samples.device)
        (usual.answeredAt, usual.connectedAt, usual.endedAt) = (later, later, later)
        (usual.fromName, usual.push) = ("Front desk", Samples.push)
        let small = Array(repeating: usual, count: FrameLimits.listedCalls)
        let page = Array(small.prefixThatFitsFrame)
        #expect(page.count == FrameLimits.listedCalls)
        #expect(
            size(.reply(.number(.min), .calls(page, next: HistoryCursor(before: later, call: Samples.call))))
                <= FrameLimits.frame)
    }
}
