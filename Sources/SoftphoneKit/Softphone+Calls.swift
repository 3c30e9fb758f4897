import CallVocabulary
import SoftphoneSession

/// The protocol's commands, one method each. Any thread.
///
/// Without a connection, `answer`, `decline`, `hangup` and other commands that are harmless late wait up to `keepTime`.
/// The others wait up to `requestTimeout` and fail with `notConnected`.
extension Softphone {
    /// Places a call. Returns when the server has stored it; events report its progress.
    ///
    /// `to` is a handle or an alias, a list of them, or a group: `.user(bob)`, `.users([bob, carol])`,
    /// `.group("support")`.
    /// - Parameters:
    ///   - sdp: the offer, as a JSON value; ``RawJSON/text(_:)`` converts a string.
    ///   - ringTime: from 5 s to the server's longest ring time, 180 s by default; nil means the server's default.
    ///   - maxDuration: how long the call may last, from 1 s to a week; nil means the server's limit.
    ///   - callID: a repeated id means the same call, even after a failure.
    /// - Throws: `callEnded` when no callee can be reached. The event of the end arrives too.
    @discardableResult
    public func call(
        _ to: CallTarget, sdp: RawJSON? = nil, video: Bool = false, ringTime: Duration? = nil,
        maxDuration: Duration? = nil, custom: RawJSON? = nil, callID: CallID = .random()
    ) async throws(SoftphoneError) -> CallID {
        let invite = Invite(
            call: callID, to: to, ringTime: ringTime, maxDuration: maxDuration, video: video, sdp: sdp, custom: custom)
        let reply = try await submit(.invite(invite))
        if case .inviteEnded(_, let reason) = reply { throw .callEnded(reason) }
        return callID
    }

    /// Answers by the call's id, even before the socket's event or an open session.
    /// - Throws: `callEnded`, or `refused` with `alreadyAnswered`. The call is then over on this device, and
    ///   `SoftphoneEvent.ended` arrives.
    public func answer(_ call: CallID, sdp: RawJSON? = nil) async throws(SoftphoneError) {
        try await submit(.answer(call, sdp: sdp))
    }

    public func decline(_ call: CallID, reason: DeclineReason = .declined) async throws(SoftphoneError) {
        try await submit(.decline(call, reason))
    }

    /// Reports that this device shows the call. Automatic unless `automaticRinging` is off.
    public func ringing(_ call: CallID) async throws(SoftphoneError) {
        try await submit(.ringing(call))
    }

    /// Reports that media flows on this side.
    public func connected(_ call: CallID) async throws(SoftphoneError) {
        try await submit(.connected(call))
    }

    /// Ends a call, or cancels an unanswered outgoing one.
    public func hangup(_ call: CallID, reason: HangupReason = .hangup) async throws(SoftphoneError) {
        try await submit(.hangup(call, reason))
    }

    /// Renegotiates, holds, mutes, or sends the app's own data to the peer.
    public func update(_ update: CallUpdate) async throws(SoftphoneError) {
        try await submit(.update(update))
    }

    /// Tells the peer that the call is on hold.
    public func hold(_ call: CallID, sdp: RawJSON? = nil) async throws(SoftphoneError) {
        try await update(CallUpdate(call: call, kind: .hold, sdp: sdp))
    }

    /// Tells the peer that the call is resumed.
    public func resume(_ call: CallID, sdp: RawJSON? = nil) async throws(SoftphoneError) {
        try await update(CallUpdate(call: call, kind: .resume, sdp: sdp))
    }

    /// Tells the peer whether this microphone is off: a `mute` whose `custom` is `true` or `false`.
    public func mute(_ call: CallID, _ isMuted: Bool = true) async throws(SoftphoneError) {
        let custom = RawJSON(bytes: Array((isMuted ? "true" : "false").utf8))
        try await update(CallUpdate(call: call, kind: .mute, custom: custom))
    }

    /// Sends the app's own data to the peer.
    public func info(_ call: CallID, _ custom: RawJSON) async throws(SoftphoneError) {
        try await update(CallUpdate(call: call, kind: .info, custom: custom))
    }

    /// Reports the result of a push, after the call was reported to CallKit or its equivalent.
    public func report(_ report: PushReport) async throws(SoftphoneError) {
        try await submit(.report(report))
    }

    /// Replaces the device's push tokens; without any, pushes cannot reach the device.
    public func updatePushTokens(_ tokens: [PushToken]) async throws(SoftphoneError) {
        try await submit(.updateDevice(push: tokens))
    }

    /// Reports whether the app is in the foreground. A device in the background gets pushes besides events.
    public func state(_ state: AppState) async throws(SoftphoneError) {
        try await submit(.state(state))
    }

    /// The server's state of a call, even of an ended one.
    public func get(_ call: CallID) async throws(SoftphoneError) -> CallSnapshot {
        guard case .call(let snapshot) = try await submit(.get(call)) else { throw .unexpectedReply }
        return snapshot
    }

    /// The user's own calls, newest first. `next` is the cursor of the next page.
    public func list(
        after cursor: HistoryCursor? = nil, limit: Int? = nil
    ) async throws(SoftphoneError) -> (calls: [CallSnapshot], next: HistoryCursor?) {
        guard case .calls(let calls, let next) = try await submit(.list(after: cursor, limit: limit)) else {
            throw .unexpectedReply
        }
        return (calls, next)
    }

    /// Clears the missed calls up to `upTo`.
    public func clearMissed(upTo: Instant) async throws(SoftphoneError) {
        try await submit(.clearMissed(upTo: upTo))
    }
}
