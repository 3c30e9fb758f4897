import CallCore
import CallVocabulary
import Testing

@testable import CallServer

/// All times that leave the core are converted, and no other numbers.
@Suite("Conversion of the core's times") struct CoreTimesTests {
    private static let (alice, bob) = (Handle("alice")!, Handle("bob")!)
    private static let call = CallID(high: 1, low: 2)
    private static let push = PushID(high: 3, low: 4)
    private static let device = DeviceKey(user: bob, device: DeviceID(high: 5, low: 6))
    private static let step = Duration.seconds(7200)

    /// Each `Instant` within a value.
    private static func instants(in value: Any) -> [Int64] {
        if let instant = value as? Instant { return [instant.milliseconds] }
        return Mirror(reflecting: value).children.flatMap { instants(in: $0.value) }
    }

    private static func at(_ number: Int64) -> Instant { Instant(milliseconds: number) }

    private static var callRecord: CallRecord {
        var record = CallRecord(
            id: call, caller: Party(user: alice), callerName: nil, to: .user(bob), video: false, inviteDigest: 9,
            state: .answered, createdAt: at(1), ringsUntil: at(2))
        (record.ringingAt, record.answeredAt, record.connectsUntil) = (at(3), at(4), at(5))
        (record.callerConnectedAt, record.calleeConnectedAt, record.connectedAt) = (at(6), at(7), at(8))
        record.endedAt = at(9)
        record.hunt = CallRecord.HuntProgress(rung: 1, nextAt: at(10))
        return record
    }

    private static var legRecord: LegRecord {
        var leg = LegRecord(call: call, device: device, push: push, state: .ringing, createdAt: at(1))
        (leg.offeredAt, leg.wokenAt, leg.ringingAt, leg.answeredAt, leg.endedAt) = (at(2), at(3), at(4), at(5), at(6))
        return leg
    }

    private static let token = PushToken(
        provider: .apns, kind: .voip, environment: .sandbox, topic: "a.voip", token: "00")

    private static var pushRecord: PushRecord {
        var record = PushRecord(
            id: push, call: call, device: device, token: token, intendedAt: at(1), expiresAt: at(2))
        (record.sentAt, record.answeredAt, record.reportedAt, record.reportDueAt) = (at(3), at(4), at(5), at(6))
        return record
    }

    private static var deviceRecord: DeviceRecord {
        DeviceRecord(
            key: device, platform: .ios, app: nil, name: nil,
            tokens: [DeviceRecord.Token(token: token, registeredAt: at(1))], seenAt: at(2), unreportedStreak: 0,
            suspendedAt: at(3))
    }

    private static let missed = MissedCall(call: call, from: alice, at: at(1), reason: .ringTimeout, video: false)

    private static var snapshot: CallSnapshot {
        var snapshot = CallSnapshot(
            call: call, role: .callee, state: .ringing, from: alice, to: .user(bob), video: false, createdAt: at(1))
        (snapshot.expiresAt, snapshot.answeredAt, snapshot.connectedAt) = (at(2), at(3), at(4))
        (snapshot.endedAt, snapshot.lostAt, snapshot.peerAwaySince) = (at(6), at(5), at(5))
        return snapshot
    }

    private static var effects: [CoreEffect] {
        let connection = ConnectionID(shard: 0, serial: 1)
        let request = RequestID.number(1)
        let incoming = IncomingCall(
            call: call, from: alice, fromName: nil, to: .user(bob), video: false, sdp: nil, candidates: [], custom: nil,
            expiresAt: at(1), push: push)
        let opened = SessionOpened(
            session: SessionID(high: 1, low: 1), user: bob, resumeToken: "r", resumeWindow: .seconds(30),
            resumed: false,
            calls: [snapshot, snapshot], missed: [missed])
        let messages: [ServerMessage] = [
            .reply(request, .opened(opened)), .reply(request, .invited(call, .ringing, expiresAt: at(1))),
            .reply(request, .call(snapshot)), .reply(request, .calls([snapshot], next: HistoryCursor(before: at(9)))),
            .event(seq: 1, .incoming(incoming)),
            .event(
                seq: 2,
                .state(CallStateChange(call: call, state: .ringing, at: at(1), waking: 0, ringing: 1, expiresAt: at(2)))
            ),
            .event(seq: 3, .ended(CallEnded(call: call, reason: .hangup, by: nil, at: at(1), isOwnAct: true))),
        ]
        let session = SessionRecord(
            id: SessionID(high: 1, low: 1), device: device, platform: .ios, app: nil, wakeCall: nil,
            connection: connection, openedAt: at(1), onlineSince: at(2))
        let user = UserSummary(
            handle: bob, policy: UserPolicy(), aliases: [], groups: [], devices: 0, devicesOnline: 0, liveCalls: 0,
            revokedBefore: at(1))
        return messages.map { .send(connection, $0) } + [
            .observe(.online(session)), .observe(.away(session.id, device, at: at(1))),
            .answer(AdminRequestID(serial: 1), .success(.user(user))),
        ]
    }

    private static var records: [StoreRecord] {
        [
            .call(callRecord), .leg(legRecord), .push(pushRecord), .device(deviceRecord), .missed(user: bob, missed),
            .missedCleared(user: bob, upTo: at(1)),
            .revocation(RevocationRecord(handle: bob, issuedBefore: at(1))),
        ]
    }

    @Test("adds the offset to every time on its way out")
    func out() {
        let times = CoreTimes(offset: Self.step)
        for record in Self.records {
            let before = Self.instants(in: record)
            #expect(!before.isEmpty)
            #expect(Self.instants(in: times.wall([record])) == before.map { $0 + 7_200_000 }, "\(record)")
        }
        for effect in Self.effects {
            let before = Self.instants(in: effect)
            #expect(!before.isEmpty)
            #expect(
                Self.instants(in: times.wall(HeldEffects([effect])).release(CommitReceipt()))
                    == before.map { $0 + 7_200_000 }, "\(effect)")
        }
    }

    @Test("is reversed for inputs: a restart's recovery, a call from the store, a client's message")
    func back() {
        let times = CoreTimes(offset: Self.step)
        var state = RecoveredState()
        state.calls = [Self.callRecord]
        state.legs = [Self.legRecord]
        state.pushes = [Self.pushRecord]
        var entry = DirectoryEntry(name: Self.bob)
        entry.devices = [Self.deviceRecord]
        entry.sentSyncs = [DirectoryEntry.SentSync(device: Self.device.device, sentAt: Self.at(1))]
        entry.revokedBefore = Self.at(1)
        entry.missed = [Self.missed]
        state.users = [entry]
        state.notices = [RecoveredState.Notice(push: Self.pushRecord, from: Self.alice, fromName: nil, video: false)]
        let moved = Self.instants(in: times.timeline(state))
        #expect(moved == Self.instants(in: state).map { $0 - 7_200_000 })
        let connection = ConnectionID(shard: 0, serial: 1)
        let stored = StoredCall(call: Self.callRecord, legs: [Self.legRecord], pushes: [Self.pushRecord])
        let grant = SessionGrant(user: Self.bob, issuedAt: Self.at(7))
        let open = SessionOpen(token: "", device: DeviceDescription(id: Self.device.device, platform: .ios))
        for input in [
            CoreInput.store(.found(number: 1, Found(call: stored, entries: [entry]))),
            .client(.requested(connection, .number(1), .clearMissed(upTo: Self.at(5)))),
            .client(.opened(connection, .number(1), open, grant)),
            .client(.asked(connection, .number(1), .get(Self.call), grant, nil)),
            .client(.tokenShown(connection, .number(1), grant, nil)),
            .administered(AdminRequestID(serial: 1), .revokeTokens(Self.bob, before: Self.at(5))),
            .store(
                .historyRead(
                    connection, .number(1), HistoryPage(calls: [Self.snapshot], next: HistoryCursor(before: Self.at(9)))
                )),
        ] {
            let before = Self.instants(in: input)
            #expect(!before.isEmpty)
            #expect(Self.instants(in: times.timeline(input)) == before.map { $0 - 7_200_000 })
        }
    }

    @Test("after a clock step, a live call's deadlines move and its past times stay")
    func acrossAStep() {
        var times = CoreTimes(offset: .seconds(10))
        times.step(to: Self.step, restated: [.call(Self.callRecord), .push(Self.pushRecord)])
        guard case .call(let call)? = times.wall([.call(Self.callRecord)]).first,
            case .push(let push)? = times.wall([.push(Self.pushRecord)]).first,
            case .leg(let leg)? = times.wall([.leg(Self.legRecord)]).first
        else {
            Issue.record("other records")
            return
        }
        #expect(call.createdAt == Self.at(10_001) && call.endedAt == Self.at(10_009))
        #expect(call.ringsUntil == Self.at(7_200_002) && call.connectsUntil == Self.at(7_200_005))
        #expect(call.hunt?.nextAt == Self.at(7_200_010))
        #expect(push.intendedAt == Self.at(10_001) && push.expiresAt == Self.at(7_200_002))
        #expect(push.reportDueAt == Self.at(7_200_006))
        #expect(leg.createdAt == Self.at(10_001))
        // Ended: its deadlines are past times too.
        var ended = Self.callRecord
        ended.state = .ended
        guard case .call(let over)? = times.wall([.call(ended)]).first else { return }
        #expect(over.ringsUntil == Self.at(10_002) && over.connectsUntil == Self.at(10_005))
        // A call created after the clock step is not affected.
        var later = Self.callRecord
        later.id = CallID(high: 9, low: 9)
        guard case .call(let new)? = times.wall([.call(later)]).first else { return }
        #expect(new.createdAt == Self.at(7_200_001))
        // It is still live at the next step.
        times.step(to: .zero, restated: [.call(Self.callRecord)])
        guard case .call(let again)? = times.wall([.call(Self.callRecord)]).first else { return }
        #expect(again.createdAt == Self.at(10_001) && again.ringsUntil == Self.at(2))
    }
}
