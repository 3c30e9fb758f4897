import CallCore
import CallVocabulary
import PushCore
import PushVocabulary
import RecordModel

/// The shell of the push client: carries out the push machine's effects, like the server's dispatcher and pool.
extension Simulation {
    func take(_ message: PushMessage, _ process: ServerProcess) {
        guard !process.isPushStopping else {
            // A push just committed as sent is returned; a queued one waits on disk for the next start.
            guard case .transmit(let push) = message,
                process.preparing.contains(push) || process.machine.isUnsent(push)
            else { return }
            drive(.dropped(push), process)
            return post(.push(.ended(push, .returned)), to: process)
        }
        switch message {
        case .queue(let intent): queue(intent, process)
        case .transmit(let push):
            // A push that was dropped and queued again meanwhile is announced in its turn.
            guard !process.preparing.contains(push) else { return post(.push(.ended(push, .returned)), to: process) }
            drive(mayRelease(process) ? .cleared(push) : .postponed(push), process)
        case .drop(let push):
            if let index = process.preparing.firstIndex(of: push) {
                process.preparing.remove(at: index)
            } else {
                drive(.dropped(push), process)
            }
        }
    }

    private func queue(_ intent: PushIntent, _ process: ServerProcess) {
        guard !process.preparing.contains(intent.id), !process.machine.contains(intent.id) else { return }
        guard intent.token.environment == .production else {
            return post(.push(.ended(intent.id, .unsent(reason: "no APNs credentials for sandbox"))), to: process)
        }
        guard process.preparing.count + process.machine.queueDepth < process.machine.policy.queueCapacity else {
            count("push.queue_full")
            return post(.push(.ended(intent.id, .unsent(reason: "push queue full"))), to: process)
        }
        process.preparing.append(intent.id)
        schedule(.prepared(process: process.number, intent), in: draw(0...5))
    }

    func prepared(_ intent: PushIntent, _ process: ServerProcess) {
        guard !process.isPushStopping, let index = process.preparing.firstIndex(of: intent.id) else { return }
        process.preparing.remove(at: index)
        do {
            let request = try PushRequest(intent, wakeToken: "wake")
            process.queued[intent.id] = intent
            let terms = PushTerms(
                expiresAt: request.expiresAt, tokenRegisteredAt: intent.tokenRegisteredAt, token: intent.token,
                user: intent.user, isUrgent: intent.purpose == .call)
            drive(.queued(intent.id, terms), process)
        } catch {
            post(.push(.ended(intent.id, .unsent(reason: error.rawValue))), to: process)
        }
    }

    func signed(_ generation: Int, _ process: ServerProcess) {
        if chance(odds.failedSigning) {
            drive(.providerTokenFailed(generation: generation, reason: "no key"), process)
        } else {
            drive(.providerTokenSigned(generation: generation), process)
        }
    }

    /// Passes an input from a connection to the machine, unless the machine has closed the connection.
    func hear(_ input: PushInput, _ process: ServerProcess) {
        switch input {
        case .closed(let id, _):
            guard process.connections.contains(where: { $0.id == id }) else { return }
            process.connections.removeAll { $0.id == id }
        case .opened(let id, _), .streamLimitChanged(let id, _), .goneAway(let id, _, _), .pingAnswered(let id),
            .answered(let id, _, _), .statusRead(let id, _, _), .streamRefused(let id, _), .streamLost(let id, _, _):
            guard process.connections.contains(where: { $0.id == id }) else { return }
        case .queued, .cleared, .postponed, .dropped, .submitted, .notSubmitted, .providerTokenSigned,
            .providerTokenFailed,
            .credentialReplaced, .credentialGone, .clockSet:
            break
        }
        drive(input, process)
    }

    func letPushTimeOut(_ process: ServerProcess) {
        process.pushTimerFired()
        var effects: [PushEffect] = []
        process.machine.handleTimeouts(now: now(of: process), effects: &effects)
        carryOut(&effects, process)
    }

    private func drive(_ input: PushInput, _ process: ServerProcess) {
        var effects: [PushEffect] = []
        process.machine.handle(input, now: now(of: process), effects: &effects)
        carryOut(&effects, process)
    }

    /// In order; immediate consequences are appended.
    private func carryOut(_ effects: inout [PushEffect], _ process: ServerProcess) {
        var next = 0
        while next < effects.count {
            perform(effects[next], process, &effects)
            next += 1
        }
        if process.machine.openConnections > process.machine.policy.connections {
            violate("too many connections to APNs")
        }
        let policy = process.machine.policy
        if process.machine.queueDepth > policy.queueCapacity {
            violate("the push queue is too long")
        }
        guard process.pushDeadlineMoved() else { return }
        process.pushTimer = process.machine.nextDeadline().map { due in
            max(time, due.milliseconds - offset(of: process) + Int64(draw(0...2)))
        }
    }

    private func perform(_ effect: PushEffect, _ process: ServerProcess, _ effects: inout [PushEffect]) {
        note("  push: \(effect)")
        switch effect {
        case .open(let id):
            process.connections.append(ServerProcess.Connection(id: id))
            schedule(.connected(process: process.number, id), in: draw(20...(chance(odds.stall) ? 12_000 : 400)))
        case .close(let id): process.connections.removeAll { $0.id == id }
        case .ping(let id):
            guard let index = process.connections.firstIndex(where: { $0.id == id }) else { return }
            guard !process.connections[index].isBlackHole else { return }
            reply(.pingAnswered(id), index, process, in: draw(5...200))
        case .signProviderToken(let generation, _):
            schedule(.signed(process: process.number, generation: generation), in: draw(0...10))
        case .ready(let push): if !process.isPushStopping { post(.push(.ready(push)), to: process) }
        case .submit(let id, let push, _): submit(push, on: id, process, &effects)
        case .cancel: break
        case .outcome(let push, let outcome):
            count("outcome.\(outcome.name)")
            if outcome != .returned { process.queued[push] = nil }
            // During a stop the core's last turn gets it; otherwise it is in flight with other messages.
            if process.isClosing {
                process.inbox.append(.push(.ended(push, outcome)))
            } else {
                post(.push(.ended(push, outcome)), to: process)
            }
        case .alarm(let alarm): count("alarm.\(alarm.kind)")
        }
    }

    private func submit(
        _ push: PushID, on id: PushConnectionID, _ process: ServerProcess, _ effects: inout [PushEffect]
    ) {
        guard let intent = process.queued[push] else { return violate("submitted a push that was not queued") }
        checkSubmission(intent, by: process)
        guard let index = process.connections.firstIndex(where: { $0.id == id }), !chance(odds.lostStream / 4) else {
            return process.machine.handle(.notSubmitted(id, push), now: now(of: process), effects: &effects)
        }
        if !process.connections[index].isOpen { violate("submitted on a connection that is not open") }
        let stream = process.connections[index].nextStream
        process.connections[index].nextStream += 2
        attempts.append(
            Attempt(intent: intent, process: process.number, connection: id, stream: stream, submittedAt: time))
        // A GOAWAY that excludes this stream is already in flight.
        if stream > process.connections[index].lastStream { attempts[attempts.count - 1].fate = .untaken }
        process.machine.handle(.submitted(id, push, stream: stream), now: now(of: process), effects: &effects)
        schedule(.request(attempt: attempts.count - 1), on: &process.connections[index].lane, in: draw(5...120))
    }

    /// Checks a push at the last moment: its bytes leave now.
    private func checkSubmission(_ intent: PushIntent, by process: ServerProcess) {
        count("push.submitted")
        checkTerm(of: process, releasing: "a push")
        guard let push = disk.pushes[intent.id] else { return violate("submitted a push that is not on disk") }
        if push.status != .sent { violate("submitted a push that is on disk as \(push.status)") }
        if push.token != intent.token { violate("submitted a push to another token than committed") }
        if now(of: process) >= intent.expiresAt { violate("submitted an expired push") }
        let before = attempts.filter {
            $0.intent.call == intent.call && $0.intent.device == intent.device && $0.intent.purpose == intent.purpose
        }
        if before.contains(where: { $0.intent.user == intent.user && $0.fate != .untaken }) {
            violate("submitted a second push for a device and call, and the first may have arrived")
        }
        if before.count > 1 { count("push.third_try") }
        guard intent.purpose == .call else { return }
        let toToken = attempts.filter {
            $0.intent.call == intent.call && $0.intent.purpose == .call && $0.intent.id != intent.id
                && $0.intent.token.token == intent.token.token
        }
        if !toToken.isEmpty { count("push.token_again") }
        if toToken.contains(where: { $0.fate != .untaken }) { violate("second push to one phone for one call") }
        // The longest delay of a message to the push client.
        if let over = process.overSince[intent.call], over + 20 < time { violate("submitted a push for an ended call") }
    }

    /// The process stops: all connections close, and pushes in flight end as unknown.
    func closePool(_ process: ServerProcess) {
        process.isClosing = true
        for connection in process.connections {
            drive(.closed(connection.id, reason: "the server stops"), process)
        }
        process.connections = []
    }
}
