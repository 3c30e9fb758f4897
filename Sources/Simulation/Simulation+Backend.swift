import CallCore
import CallVocabulary
import RecordModel

/// A backend that places calls over HTTP, follows them, reports their media, and hangs up. Sometimes it asks about calls
/// between devices, or repeats a request.
extension Simulation {
    func actAsBackend() {
        guard let mine = backendInvites.last, chance(600) else { return placeAsBackend() }
        let id = chance(700) ? mine.invite.call : disk.calls.keys.last ?? mine.invite.call
        switch draw(0...6) {
        case 0: ask(.get(id))
        case 1: ask(.connected(id))
        case 2: ask(.hangup(id, pick(HangupReason.allCases)))
        case 3: ask(.invite(chance(700) ? pick(backendInvites) : other(mine)))
        default: ask(.follow(id, after: backendVersions[id] ?? 0))
        }
    }

    private func placeAsBackend() {
        guard disk.liveCalls.count < 5 else { return }
        var invite = Invite(call: CallID(random: &random), to: target())
        if chance(500) { invite.ringTime = .seconds(draw(5...20)) }
        // Otherwise only the callee would end such a call.
        invite.maxDuration = .seconds(draw(1...60))
        if chance(400) { invite.sdp = RawJSON("\"offer\"") }
        let body = BackendInvite(
            invite: invite, from: chance(500) ? pick(handles) : Handle("pbx") ?? handles[0], name: "Desk")
        backendInvites.append(body)
        count("backend.invite")
        ask(.invite(body))
        ask(.follow(invite.call, after: 0))
    }

    /// Another call with the id of this one.
    private func other(_ body: BackendInvite) -> BackendInvite {
        var body = body
        body.invite.video.toggle()
        return body
    }

    /// The backend receives a call that it asked for, and continues to follow it.
    func backendHears(_ call: BackendCall) {
        let id = call.snapshot.call
        backendVersions[id] = call.version
        guard call.snapshot.state != .ended else { return }
        if call.snapshot.state == .answered, chance(isHealed ? 1000 : 700) { ask(.connected(id)) }
        if chance(500) { ask(.follow(id, after: call.version)) }
    }

    private func ask(_ command: BackendRequest) {
        guard let process = entry else { return }
        links.append(Link(phone: nil, process: process.number))
        sendUp(.backend(nextRequest(), command), on: links.count - 1)
    }
}
