import AdminProtocol
import CallCore
import CallVocabulary

extension CallView {
    /// - Parameter counts: nil when the legs and pushes are not loaded.
    public init(_ call: CallRecord, counts: CallCounts? = nil) {
        self.init(
            callID: call.id, state: call.state, from: call.caller.user, to: TargetView(call.to), video: call.video,
            createdAt: Timestamp(call.createdAt), ringsUntil: Timestamp(call.ringsUntil))
        fromDeviceID = call.caller.device
        fromName = call.callerName
        toCount = call.toCount
        forwardedTo = call.forwards.last.map { TargetView($0.to) }
        ringingAt = Timestamp(call.ringingAt)
        answeredAt = Timestamp(call.answeredAt)
        answeredBy = call.answeredBy?.user
        answeredByDeviceID = call.answeredBy?.device
        connectedAt = Timestamp(call.connectedAt)
        lostAt = call.lostAt == nil ? nil : Timestamp(call.talkEndedAt)
        endedAt = Timestamp(call.endedAt)
        reason = call.endReason
        endedBy = call.endedBy?.user
        endedByDeviceID = call.endedBy?.device
        mergedInto = call.mergedInto
        self.counts = counts
    }
}

extension CallDetail {
    public init(_ stored: StoredCall) {
        let timeline = CallTimeline(
            call: stored.call, legs: stored.legs, pushes: stored.pushes, absences: stored.absences)
        self.init(
            call: CallView(stored.call, counts: CallCounts(legs: stored.legs, pushes: stored.pushes)),
            legs: stored.legs.map { LegView($0) }, pushes: stored.pushes.map { PushView($0) },
            timeline: timeline.entries.map { TimelineEntryView($0, since: stored.call.createdAt) })
    }
}

extension CallCounts {
    public init(legs: some Collection<LegRecord>, pushes: some Collection<PushRecord>) {
        self.init(
            devices: legs.count, ringing: legs.count { $0.state == .ringing },
            waking: legs.count { $0.state == .waking },
            pushes: pushes.count, pushesOpen: pushes.count(where: \.isOpen))
    }
}

extension PushRecord {
    /// Whether its outcome is open: it is not sent, not answered, or its report is awaited.
    public var isOpen: Bool { status == .intended || status == .sent || report == .awaited }
}

extension LegView {
    public init(_ leg: LegRecord) {
        self.init(
            user: leg.device.user, deviceID: leg.device.device, state: leg.state.rawValue, pushID: leg.push,
            createdAt: Timestamp(leg.createdAt))
        offeredAt = Timestamp(leg.offeredAt)
        wokenAt = Timestamp(leg.wokenAt)
        ringingAt = Timestamp(leg.ringingAt)
        answeredAt = Timestamp(leg.answeredAt)
        endedAt = Timestamp(leg.endedAt)
        reason = leg.endReason
    }
}

extension TimelineEntryView {
    /// - Parameter start: the time of the invite.
    public init(_ entry: CallTimeline.Entry, since start: Instant) {
        self.init(
            at: Timestamp(entry.at), offsetMilliseconds: (entry.at - start).wholeMilliseconds,
            step: entry.step.rawValue)
        user = entry.by?.user
        deviceID = entry.by?.device
        detail = entry.detail
    }
}
