import CallCore
import CallVocabulary
import PushCore
import PushVocabulary

/// One request to APNs and its result.
struct Attempt {
    enum Fate {
        case onWire
        /// APNs has not processed it, and says so.
        case untaken
        /// It was processed, or its state is unknown.
        case taken
    }

    var intent: PushIntent
    var process: Int
    var connection: PushConnectionID
    var stream: Int32
    var submittedAt: Int64
    var fate = Fate.onWire
    var deliveries = 0
}

/// APNs, with all its known faults.
extension Simulation {
    func connected(_ id: PushConnectionID, _ process: ServerProcess) {
        guard let index = process.connections.firstIndex(where: { $0.id == id }) else { return }
        if providerIsDown || chance(odds.refusedConnection) {
            count("apns.connection_refused")
            return hear(.closed(id, reason: "refused"), process)
        }
        process.connections[index].isOpen = true
        let limit = chance(odds.lowerLimit) ? draw(0...2) : 100
        process.connections[index].streamLimit = limit
        hear(.opened(id, streamLimit: limit), process)
    }

    func reply(_ input: PushInput, _ index: Int, _ process: ServerProcess, in milliseconds: Int) {
        let event = Event.toMachine(process: process.number, input)
        schedule(event, on: &process.connections[index].lane, in: milliseconds)
    }

    /// The connection of an attempt, if it is still open.
    private func place(of attempt: Attempt) -> (process: ServerProcess, index: Int)? {
        guard let process = live(attempt.process),
            let index = process.connections.firstIndex(where: { $0.id == attempt.connection })
        else { return nil }
        return (process, index)
    }

    /// The request reached APNs, or was in flight when the connection broke.
    func arrive(_ number: Int) {
        let attempt = attempts[number]
        guard attempt.fate == .onWire else { return }
        attempts[number].fate = .taken
        guard let (process, index) = place(of: attempt) else {
            if chance(500) { accept(number) }
            return
        }
        if process.connections[index].isBlackHole {
            if chance(300) { accept(number) }
            return
        }
        decide(number, process, index)
    }

    private func decide(_ number: Int, _ process: ServerProcess, _ index: Int) {
        let attempt = attempts[number]
        let wait = chance(odds.stall) ? draw(2000...12_000) : draw(2...150)
        if chance(odds.refusedStream) {
            count("apns.refused_stream")
            attempts[number].fate = .untaken
            return reply(.streamRefused(attempt.connection, stream: attempt.stream), index, process, in: wait)
        }
        if chance(odds.lostStream) {
            count("apns.stream_lost")
            if chance(500) { accept(number) }
            let lost = PushInput.streamLost(attempt.connection, stream: attempt.stream, reason: "CANCEL")
            return reply(lost, index, process, in: wait)
        }
        if chance(odds.stallAnswer) {
            count("apns.no_answer")
            if chance(500) { accept(number) }
            return
        }
        let isDead = chance(odds.deadToken)
        let answer =
            isDead || chance(odds.refusal)
            ? refusal(of: number, isDead ? .unregistered : pick(APNSReason.allCases))
            : PushAnswer.apns(status: 200, body: [])
        if answer.verdict == .accepted { accept(number) }
        reply(.answered(attempt.connection, stream: attempt.stream, answer), index, process, in: wait)
    }

    private func refusal(of number: Int, _ reason: APNSReason) -> PushAnswer {
        count("apns.\(reason.rawValue)")
        switch reason.verdict {
        case .retryable, .serverLeaving, .credentialRefused, .providerTokenStale, .providerTokenTooNew, .relayRefused,
            .providerThrottled, .throttled:
            attempts[number].fate = .untaken
        case .accepted, .tokenGone, .tokenUnknown, .tokenMismatched, .topicRefused, .deviceThrottled, .requestFaulty:
            break
        }
        var body = "{\"reason\":\"\(reason.rawValue)\""
        if reason.verdict == .tokenGone { body += ",\"timestamp\":\(time + Int64(draw(-10_000...0)))" }
        return PushAnswer.apns(status: reason.status, body: Array((body + "}").utf8))
    }

    /// APNs accepts it, without a guarantee of delivery.
    private func accept(_ number: Int) {
        if chance(odds.undelivered) { return count("apns.undelivered") }
        let isLate = chance(odds.lateDelivery)
        if isLate { count("apns.delivered_late") }
        schedule(.delivery(attempt: number), in: isLate ? draw(5000...40_000) : draw(30...900))
        if chance(odds.doubleDelivery) {
            count("apns.delivered_twice")
            schedule(.delivery(attempt: number), in: draw(100...10_000))
        }
    }

    func deliver(_ number: Int) {
        let intent = attempts[number].intent
        // APNs drops expired pushes; the clocks may differ slightly.
        guard time < intent.expiresAt.milliseconds + 2000 else { return }
        attempts[number].deliveries += 1
        guard let phone = phones.first(where: { $0.key == DeviceKey(user: intent.user, device: intent.device) }) else {
            return violate("a push was delivered to an unknown phone")
        }
        push(intent, to: phone)
    }

    // MARK: Trouble with connections

    func troubleProvider() {
        guard let process else { return }
        if chance(odds.outage) { breakOut(process) }
        if providerIsDown, chance(60) { providerIsDown = false }
        guard let index = process.connections.indices.randomElement(using: &random), process.connections[index].isOpen
        else { return }
        let id = process.connections[index].id
        if chance(odds.goAway) { goAway(index, process) }
        if chance(odds.lowerLimit) { reply(.streamLimitChanged(id, draw(0...4)), index, process, in: draw(1...20)) }
        if chance(odds.blackHole) {
            count("apns.black_hole")
            process.connections[index].isBlackHole = true
        }
        if chance(odds.lostConnection) {
            count("apns.connection_lost")
            reply(.closed(id, reason: "reset"), index, process, in: draw(1...20))
        }
    }

    /// APNs becomes unreachable for a while.
    private func breakOut(_ process: ServerProcess) {
        count("apns.outage")
        providerIsDown = true
        for index in process.connections.indices where process.connections[index].isOpen {
            reply(.closed(process.connections[index].id, reason: "reset"), index, process, in: draw(1...20))
        }
    }

    /// Streams above the last id will not be processed.
    private func goAway(_ index: Int, _ process: ServerProcess) {
        count("apns.goaway")
        let id = process.connections[index].id
        var last = process.connections[index].lastStream
        for number in attempts.indices.reversed() {
            let attempt = attempts[number]
            guard attempt.process == process.number, attempt.connection == id else { continue }
            guard attempt.fate == .onWire, chance(700) else {
                last = min(last, attempt.stream)
                break
            }
            attempts[number].fate = .untaken
            last = min(last, attempt.stream - 1)
        }
        process.connections[index].lastStream = last
        reply(.goneAway(id, lastStream: last, reason: "NO_ERROR"), index, process, in: draw(1...50))
    }

    /// The process ended, with its connections.
    func loseWires(of process: ServerProcess) { process.connections = [] }
}
