import CallVocabulary
import RecordModel

@testable import CallCore

/// Puts what a scene's call, its devices and its pushes have become into words.
struct CallObserver {
    /// All that is on disk, and what is on its way.
    struct Picture: Equatable {
        var call: CallRecord?
        var legs: [LegRecord]
        var pushes: [PushRecord]
        var isDeliveryDue: [Bool]
        var wires: [PushClient.Phase?]
        var candidates: [CandidateRecord]
        var descriptions: DescriptionsRecord?
        var missed: [MissedCall]
        var devices: [DeviceRecord]
        var groups: [CallGroup]
        var users: [UserRecord]
        var aliases: [Alias]
        var otherCalls: [CallRecord]
        var otherLegs: [LegRecord]
        var otherPushes: [PushRecord]
        var eventCounts: [String: Int]
        var closeCounts: [String: Int]
        var lateAnswerCounts: [String: Int]
        /// Inputs that wait for the authorization hook or the store, and the questions to it so far.
        var waiting: Int
        var questions: Int
        var searches: Int
    }

    let scene: CallScene
    private var world: World { scene.world }

    func picture() -> Picture {
        let store = world.store
        let legs = store.legs(of: scene.call)
        let live = world.core.calls[scene.call]?.legs
        let pushes = store.pushes.values
        return Picture(
            call: store.calls[scene.call], legs: legs, pushes: pushes.filter { $0.call == scene.call },
            isDeliveryDue: legs.map { leg in
                live?.first { $0.record.push == leg.push }?.deliveryDeadline != nil
            },
            wires: legs.map { world.provider.phase(of: $0.push) },
            candidates: store.candidates, descriptions: store.descriptions[scene.call],
            missed: store.missed.map(\.call),
            devices: store.devices.values, groups: store.groups.values, users: store.users.values,
            aliases: store.aliases.values, otherCalls: store.calls.values.filter { $0.id != scene.call },
            otherLegs: store.legs.values.filter { $0.call != scene.call },
            otherPushes: pushes.filter { $0.call != scene.call },
            eventCounts: scene.phones.mapValues(\.events.count), closeCounts: scene.phones.mapValues(\.closes.count),
            lateAnswerCounts: scene.phones.mapValues(\.lateAnswers.count),
            waiting: world.core.answerRoom.count + world.core.lookUpCount, questions: world.questions.count,
            searches: Int(world.core.counters.callsLookedUp))
    }

    /// All that is another now, in words; empty when nothing is.
    func changes(since old: Picture) -> [String] {
        let new = picture()
        var words: [String] = []
        func note(_ subject: String, _ was: String?, _ becomes: String?, touched: Bool) {
            if was != becomes {
                words.append("\(subject) \(was ?? "-")>\(becomes ?? "-")")
            } else if touched {
                words.append("\(subject) noted")
            }
        }
        note("call", old.call.map(text), new.call.map(text), touched: old.call != new.call)
        for (index, leg) in new.legs.enumerated() {
            let before = index < old.legs.count ? old.legs[index] : nil
            let name = name(leg.device)
            let was = before.map { text($0, isDue: old.isDeliveryDue[index]) }
            note(name, was, text(leg, isDue: new.isDeliveryDue[index]), touched: before != leg)
        }
        for push in new.pushes {
            let before = old.pushes.first { $0.id == push.id }
            note("push:\(name(push.device))", before.map(text), text(push), touched: before != push)
        }
        for (index, leg) in new.legs.enumerated() {
            let before = index < old.wires.count ? old.wires[index] : nil
            note("wire:\(name(leg.device))", before.map { "\($0)" }, new.wires[index].map { "\($0)" }, touched: false)
        }
        words += records(old, new)
        words += told(since: old)
        if new.searches > old.searches { words.append("looked up") }
        if new.questions > old.questions { words.append("asked") }
        if new.waiting != old.waiting {
            words.append(new.waiting == 0 ? "none waits" : "waiting +\(new.waiting - old.waiting)")
        }
        return words
    }

    private func records(_ old: Picture, _ new: Picture) -> [String] {
        var words: [String] = []
        if old.descriptions != new.descriptions {
            words.append(new.descriptions == nil ? "offer dropped" : "offer kept")
        }
        if old.candidates != new.candidates {
            words.append(new.candidates.count > old.candidates.count ? "candidates kept" : "candidates dropped")
        }
        if old.missed != new.missed { words.append("missed \(old.missed.count)>\(new.missed.count)") }
        for device in new.devices {
            var before = old.devices.first { $0.key == device.key }
            // Each sign of life moves it.
            before?.seenAt = device.seenAt
            guard before != device else { continue }
            let (was, becomes) = (before?.tokens.count ?? 0, device.tokens.count)
            var word = "device:\(name(device.key)) tokens \(was)>\(becomes)"
            if before?.unreportedStreak != device.unreportedStreak { word += " streak \(device.unreportedStreak)" }
            words.append(word)
        }
        if old.groups != new.groups { words.append("groups") }
        if old.users != new.users { words.append("users") }
        if old.aliases != new.aliases { words.append("aliases") }
        let isSame: [Bool] = [
            old.otherCalls == new.otherCalls, old.otherLegs == new.otherLegs, old.otherPushes == new.otherPushes,
        ]
        if isSame.contains(false) { words.append("another call") }
        return words
    }

    private func told(since old: Picture) -> [String] {
        var words: [String] = []
        for (name, phone) in scene.phones.sorted(by: { $0.key < $1.key }) {
            let new = phone.events.dropFirst(old.eventCounts[name] ?? 0).filter { $0.call == scene.call }
            words += new.map { "\(name)<\(text($0, to: phone))" }
            for code in phone.closes.dropFirst(old.closeCounts[name] ?? 0) { words.append("\(name) closed \(code)") }
            let answers = phone.lateAnswers.dropFirst(old.lateAnswerCounts[name] ?? 0)
            words += answers.map { "\(name)=\(text($0))" }
        }
        return words
    }

    // MARK: Words

    private func name(_ key: DeviceKey) -> String { scene.name(Party(user: key.user, device: key.device)) }

    private func text(_ reason: EndReason?) -> String {
        guard let reason else { return "-" }
        return reason == scene.situation.reason ? "R" : "\(reason)"
    }

    private func text(_ call: CallRecord) -> String {
        var text = call.state == .ended ? "ended(\(self.text(call.endReason)))" : "\(call.state)"
        if call.state == .answered {
            if call.callerConnectedAt != nil { text += "+caller" }
            if call.calleeConnectedAt != nil { text += "+callee" }
        }
        if let hunt = call.hunt, call.state != .ended { text += "/\(hunt.rung)" }
        return text
    }

    /// With a star while its delivery is timed.
    private func text(_ leg: LegRecord, isDue: Bool) -> String {
        let state = leg.state == .ended ? "ended(\(text(leg.endReason)))" : "\(leg.state)"
        return isDue ? state + "*" : state
    }

    private func text(_ push: PushRecord) -> String {
        push.report.map { "\(push.status)/\($0)" } ?? "\(push.status)"
    }

    private func text(_ event: ServerEvent, to phone: Phone) -> String {
        switch event {
        case .incoming: "incoming"
        case .state(let change): "state(\(change.state))"
        case .ended(let ending): text(ending)
        case .candidates(let batch): "candidates(\(batch.candidates.count))"
        case .update: "update"
        case .peer(let change): change.presence == .back ? "peer(back)" : "peer(away)"
        case .draining: "draining"
        }
    }

    private func text(_ ending: CallEnded) -> String {
        var parts: [String] = [text(ending.reason)]
        if let by = ending.by { parts.append(scene.name(by)) }
        if ending.isOwnAct { parts.append("own") }
        return "ended(\(parts.joined(separator: ",")))"
    }

    private func text(_ view: CallSnapshot) -> String {
        var parts: [String] = ["\(view.role):\(view.state)"]
        if let reason = view.reason { parts.append(text(reason)) }
        if let sdp = view.sdp { parts.append("sdp\(sdp.json)") }
        if view.expiresAt != nil { parts.append("expires") }
        return parts.joined(separator: ",")
    }

    func text(_ answer: Result<Reply, SignalError>?) -> String {
        switch answer {
        case nil: "-"
        case .success(let reply): text(reply)
        case .failure(let error): text(error)
        }
    }

    private func text(_ reply: Reply) -> String {
        switch reply {
        case .done: "done"
        case .opened(let opened): "opened(\(opened.calls.count))"
        case .invited(_, let state, _): "invited(\(state))"
        case .inviteEnded(_, let reason): "invited(ended,\(text(reason)))"
        case .callState(let state, let reason): state == .ended ? "ended(\(text(reason)))" : "\(state)"
        case .won: "won"
        case .call(let view): text(view)
        case .backendCall(let call): text(call.snapshot)
        case .calls(let views, _): "calls(\(views.count))"
        }
    }

    private func text(_ error: SignalError) -> String {
        switch error.code {
        case .callEnded(let reason): "call_ended(\(text(reason)))"
        case .alreadyAnswered(let by): "already_answered(\(scene.name(by)))"
        case .badState(let state): "bad_state\(state.map { "(\($0))" } ?? "")"
        case .forbidden where error.message == HookInput.reason: "forbidden(hook)"
        case .forbidden: error.message.hasPrefix("You have no such part") ? "forbidden" : "forbidden(wake)"
        case .parseError, .invalidRequest, .methodNotFound, .invalidParams, .internalError, .unauthenticated,
            .notFound, .rateLimited, .tooLarge, .conflict, .limitReached, .overloaded, .draining:
            error.code.name
        }
    }
}
