import CallCore
import CallVocabulary

/// Converts between the core's timeline and wall time, at the boundary of the core.
///
/// Future times, which are deadlines, use the present offset. Past times of a call that was live at a clock step use
/// the offset with which the call began, so that its durations stay correct. Confined to the core's thread.
struct CoreTimes {
    private(set) var offset: Duration
    /// The offset with which each call began that was live at the last step.
    private var begun: [CallID: Duration] = [:]

    init(offset: Duration) { self.offset = offset }

    /// Applies a change of the system clock.
    /// - Parameter restated: the records of everything open, from the core.
    mutating func step(to offset: Duration, restated: [StoreRecord]) {
        var kept: [CallID: Duration] = [:]
        for record in restated {
            let call: CallID
            switch record {
            case .call(let record): call = record.id
            case .push(let record): call = record.call
            case .device, .deviceDropped, .leg, .descriptions, .descriptionsDropped, .absence, .missed, .missedCleared,
                .candidates, .candidatesDropped, .group, .groupDeleted, .user, .rules, .revocation, .alias,
                .aliasDeleted, .event:
                continue
            }
            kept[call] = begun[call] ?? self.offset
        }
        begun = kept
        self.offset = offset
    }

    /// Whether timeline and wall time are equal, as they are until the clock is set.
    private var isPlain: Bool { offset == .zero && begun.isEmpty }

    private func past(of call: CallID) -> Duration { begun[call] ?? offset }

    // MARK: Output of the core

    func wall(_ records: [StoreRecord]) -> [StoreRecord] { isPlain ? records : records.map(wall) }

    func wall(_ effects: HeldEffects) -> HeldEffects { offset == .zero ? effects : effects.map(wall) }

    func wall(_ instant: Instant?) -> Instant? { instant.map { $0 + offset } }

    private func wall(_ record: StoreRecord) -> StoreRecord {
        switch record {
        case .device(let device): .device(device.moved(by: offset))
        case .call(let call): .call(call.moved(by: past(of: call.id), deadlinesBy: offset))
        case .leg(let leg): .leg(leg.moved(by: past(of: leg.call)))
        case .push(let push): .push(push.moved(by: past(of: push.call), deadlinesBy: offset))
        case .missed(let user, let missed): .missed(user: user, missed.moved(by: offset))
        case .missedCleared(let user, let time): .missedCleared(user: user, upTo: time + offset)
        case .absence(let absence): .absence(absence.moved(by: past(of: absence.call)))
        case .event(let event): .event(event.moved(by: offset, past))
        case .revocation(let record):
            .revocation(
                RevocationRecord(handle: record.handle, issuedBefore: record.issuedBefore + offset))
        case .deviceDropped, .descriptions, .descriptionsDropped, .candidates, .candidatesDropped, .group,
            .groupDeleted,
            .user, .rules, .alias, .aliasDeleted:
            record
        }
    }

    private func wall(_ effect: CoreEffect) -> CoreEffect {
        switch effect {
        case .persist(let record): return .persist(wall(record))
        case .send(let connection, let message): return .send(connection, message.moved(by: offset))
        case .queuePush(let order): return .queuePush(order.registrationMoved(by: offset))
        case .queueNewPush(let order): return .queueNewPush(order.registrationMoved(by: offset))
        case .observe(let change): return .observe(change.moved(by: offset))
        case .answer(let request, .success(.user(var user))):
            user.revokedBefore = wall(user.revokedBefore)
            return .answer(request, .success(.user(user)))
        case .disconnect, .confirmPush, .transmitPush, .dropPush, .lookUp, .settle, .readHistory, .authorize,
            .authorizeSession, .answer:
            return effect
        }
    }

    // MARK: Input of the core

    func timeline(_ input: CoreInput) -> CoreInput {
        guard offset != .zero else { return input }
        let back = .zero - offset
        switch input {
        case .client(.requested(let connection, let request, .owner(.clearMissed(let time)))):
            return .client(.requested(connection, request, .clearMissed(upTo: time + back)))
        case .client(.opened(let connection, let request, let open, var grant)):
            grant.issuedAt = grant.issuedAt.moved(by: back)
            return .client(.opened(connection, request, open, grant))
        case .client(.asked(let connection, let request, let command, var grant, let device)):
            grant.issuedAt = grant.issuedAt.moved(by: back)
            return .client(.asked(connection, request, command, grant, device))
        case .client(.tokenShown(let connection, let request, var grant, let device)):
            grant.issuedAt = grant.issuedAt.moved(by: back)
            return .client(.tokenShown(connection, request, grant, device))
        case .administered(let request, .revokeTokens(let user, let before?)):
            return .administered(request, .revokeTokens(user, before: before + back))
        case .store(.found(let number, let found)): return .store(.found(number: number, found.moved(by: back)))
        case .store(.historyRead(let connection, let request, let page?)):
            return .store(.historyRead(connection, request, page.moved(by: back)))
        case .client, .connectionLost, .push, .store, .authorized, .sessionAuthorized, .administered, .drainingBegan,
            .reconfigured:
            return input
        }
    }

    func timeline(_ state: RecoveredState) -> RecoveredState {
        guard offset != .zero else { return state }
        let back = .zero - offset
        var state = state
        state.users = state.users.map { $0.moved(by: back) }
        state.calls = state.calls.map { $0.moved(by: back, deadlinesBy: back) }
        state.legs = state.legs.map { $0.moved(by: back) }
        state.absences = state.absences.map { $0.moved(by: back) }
        state.pushes = state.pushes.map { $0.moved(by: back, deadlinesBy: back) }
        for index in state.notices.indices {
            state.notices[index].push = state.notices[index].push.moved(by: back, deadlinesBy: back)
        }
        return state
    }
}
