import CallVocabulary
import PhoneSimulator
import SoftphoneKit
import SoftphoneSession

/// One call to a phone that sleeps: the call itself is an ``OnlineCall``; here is what wakes the phone for it.
///
/// ```
/// invited ─▶ push accepted ─▶ push at the phone ─▶ session open ─▶ report answered ─▶ … the call … ─▶ ended at both
/// ```
/// It is over when the call has ended at both sides and the server has answered the report. On the phones' loop.
final class WakeCall {
    let call: OnlineCall
    private let due: ContinuousClock.Instant
    private let recorder: Recorder
    /// When the push that the phone just got was given to it, and came.
    private var latest: (accepted: ContinuousClock.Instant, read: ContinuousClock.Instant)?
    private var pushedAt: ContinuousClock.Instant?
    private(set) var isReported = false
    /// The call has ended at both sides, as it was meant to.
    var hasEnded = false
    /// Those for this call.
    private(set) var pushes = 0

    init(_ call: OnlineCall, due: ContinuousClock.Instant, recorder: Recorder) {
        self.call = call
        self.due = due
        self.recorder = recorder
    }

    var isOver: Bool { hasEnded && isReported }

    /// What happened to the phone that is woken.
    /// - Returns: why the piece has failed, if it has.
    func happened(_ event: WakeablePhone.Event) -> String? {
        switch event {
        case .pushed(let push): latest = (push.delivered, .now)
        case .woken(let push):
            // One for a call before, which has failed, may come late.
            guard push.call == call.id, let latest else { break }
            pushes += 1
            guard pushedAt == nil else { break }
            pushedAt = latest.read
            recorder.passed(.invitePushAccepted, since: due, at: latest.accepted)
            recorder.passed(.invitePush, since: due, at: latest.read)
        case .reportedToServer(let push, let failure):
            guard push.call == call.id else { break }
            if let failure { return "report: \(failure)" }
            guard !isReported, let pushedAt else { break }
            isReported = true
            recorder.passed(.pushReported, since: pushedAt)
        case .app(let event): call.happened(event, at: .callee)
        case .notified, .reportedToSystem, .killed, .failed, .unreachable, .asleep: break
        }
        return nil
    }
}

@available(*, unavailable)
extension WakeCall: Sendable {}
