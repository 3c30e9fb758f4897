import CallVocabulary
import SoftphoneSession

/// The commands of the protocol, one method each. All may be called from any thread.
///
/// Without a connection, `answer`, `decline`, `hangup` and what else does no harm when it is said late wait up to
/// `keepTime` for one; the others wait up to `requestTimeout` and fail with `notConnected`.
extension Softphone {
    /// Places a call and returns when the server has it, durably. Events tell how it goes on.
    ///
    /// `to` is a handle or an alias, a list of them, or a group: `.user(bob)`, `.users([bob, carol])`,
    /// `.group("support")`.
    /// - Parameters:
    ///   - sdp: the offer, as a JSON value; ``RawJSON/text(_:)`` makes one of a string.
    ///   - ringTime: 5 to 180 s; nil takes the server's default.
    ///   - callID: the same id again is the same call, also after a failure.
    /// - Throws: `callEnded` where nobody could be reached at all; the event of its end comes too.
    @discardableResult
    public func call(
        _ to: CallTarget, sdp: RawJSON? = nil, video: Bool = false, ringTime: Duration? = nil,
        custom: RawJSON? = nil, callID: CallID = .random()
    ) async throws(SoftphoneError) -> CallID {
        let invite = Invite(call: callID, to: to, ringTime: ringTime, video: video, sdp: sdp, custom: custom)
        let reply = try await submit(.invite(invite))
        if case .inviteEnded(_, let reason) = reply { throw .callEnded(reason) }
        return callID
    }

    /// Answers by the call's id alone: before the socket event has come, and even before the session is open.
    /// - Throws: `callEnded`, or `refused` with `alreadyAnswered`: the call is lost, `SoftphoneEvent.ended` says so.
    public func answer(_ call: CallID, sdp: RawJSON? = nil) async throws(SoftphoneError) {
        try await submit(.answer(call, sdp: sdp))
    }

    public func decline(_ call: CallID, reason: DeclineReason = .declined) async throws(SoftphoneError) {
        try await submit(.decline(call, reason))
    }

    /// Says that this device shows the call. Done by itself unless `automaticRinging` is off.
    public func ringing(_ call: CallID) async throws(SoftphoneError) {
        try await submit(.ringing(call))
    }

    /// Says that media flows on this side.
    public func connected(_ call: CallID) async throws(SoftphoneError) {
        try await submit(.connected(call))
    }

    /// Ends a call; an unanswered one of our own is cancelled.
    public func hangup(_ call: CallID, reason: HangupReason = .hangup) async throws(SoftphoneError) {
        try await submit(.hangup(call, reason))
    }

    /// Renegotiates, holds, mutes, or tells the other side something of the app's own.
    public func update(_ update: CallUpdate) async throws(SoftphoneError) {
        try await submit(.update(update))
    }

    /// Tells the other side that it is put on hold.
    public func hold(_ call: CallID, sdp: RawJSON? = nil) async throws(SoftphoneError) {
        try await update(CallUpdate(call: call, kind: .hold, sdp: sdp))
    }

    /// Tells the other side that the call goes on.
    public func resume(_ call: CallID, sdp: RawJSON? = nil) async throws(SoftphoneError) {
        try await update(CallUpdate(call: call, kind: .resume, sdp: sdp))
    }

    /// Tells the other side whether this one's microphone is off: a `mute` whose `custom` is `true` or `false`.
    public func mute(_ call: CallID, _ isMuted: Bool = true) async throws(SoftphoneError) {
        let custom = RawJSON(bytes: Array((isMuted ? "true" : "false").utf8))
        try await update(CallUpdate(call: call, kind: .mute, custom: custom))
    }

    /// Tells the other side something of the app's own.
    public func info(_ call: CallID, _ custom: RawJSON) async throws(SoftphoneError) {
        try await update(CallUpdate(call: call, kind: .info, custom: custom))
    }

    /// Says what became of a push: after CallKit (or its like) was told of the call.
    public func report(_ report: PushReport) async throws(SoftphoneError) {
        try await submit(.report(report))
    }

    /// Puts `tokens` in the place of the device's push tokens; none makes it unreachable by push.
    public func updatePushTokens(_ tokens: [PushToken]) async throws(SoftphoneError) {
        try await submit(.updateDevice(push: tokens))
    }

    /// Says whether the app is in front. A device in the background is pushed as well as told.
    public func state(_ state: AppState) async throws(SoftphoneError) {
        try await submit(.state(state))
    }

    /// The server's word on a call, also on one that is over.
    public func get(_ call: CallID) async throws(SoftphoneError) -> CallSnapshot {
        guard case .call(let snapshot) = try await submit(.get(call)) else { throw .unexpectedReply }
        return snapshot
    }

    /// The user's own calls, newest first; the following page is the one after `next`.
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
