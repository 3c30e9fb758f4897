import CallVocabulary
import HTTP2
import PushCore
import PushVocabulary

/// Prepares orders for sending: mints the wake token and encodes the request.
package struct PushPreparation: Sendable {
    /// An order, and the FCM token for its APNs token if it is sent through FCM. A reference type, because it is passed
    /// more often than read.
    final class Job: Sendable {
        let intent: PushIntent
        let mapped: Mapping?

        init(intent: PushIntent, mapped: Mapping?) {
            self.intent = intent
            self.mapped = mapped
        }
    }

    struct Mapping: Equatable, Sendable {
        @Secret private(set) var token: String
        let project: String
    }

    /// A request that waits for its stream, with its intent's data; a reference type for the same reason.
    package final class Prepared: Sendable {
        let request: PushRequest
        let kind: PushRequest.Kind
        let terms: PushTerms
        /// See ``PushIntent/decidedAt``.
        let decidedAt: Instant?
        /// The fields until the last second before the deadline.
        private let early: PreparedFields
        /// Prepares the request again with the present wall time, because the clock may have been set since.
        private let remake: (@Sendable () -> Prepared?)?

        package convenience init(_ request: PushRequest, _ intent: PushIntent) {
            self.init(request, intent, remake: nil)
        }

        init(_ request: PushRequest, _ intent: PushIntent, remake: (@Sendable () -> Prepared?)?) {
            self.request = request
            self.remake = remake
            kind = request.kind
            decidedAt = intent.decidedAt
            let early = Instant(milliseconds: .min / 2)
            self.early = Self.fields(request, now: early)
            terms = PushTerms(
                expiresAt: intent.expiresAt, tokenRegisteredAt: intent.tokenRegisteredAt, token: intent.token,
                user: intent.user, isUrgent: intent.purpose == .call)
        }

        /// The request to send instead if its deadline has another wall time now.
        /// - Parameter wall: the present conversion to wall time.
        func current(_ wall: (Instant) -> Instant) -> Prepared {
            guard let remake, wall(terms.expiresAt) != request.expiresAt else { return self }
            return remake() ?? self
        }

        /// The path and the request's own fields when sent at `now`.
        func ownFields(now: Instant) -> PreparedFields {
            request.hasTimeToLive || request.isLastSecond(now) ? Self.fields(request, now: now) : early
        }

        func body(now: Instant) -> [UInt8] { request.body(now: now) }

        private static func fields(_ request: PushRequest, now: Instant) -> PreparedFields {
            PreparedFields(
                path: request.path, isPathSensitive: !request.isPathIndexed,
                fields: request.ownFields(now: now).map(HTTPField.init))
        }
    }

    /// An order's request, or the reason why there is none.
    enum Result: Sendable {
        case ready(Prepared)
        case impossible(reason: String)
    }

    let texts: AlertTexts
    let profiles: PayloadProfiles
    let mintWakeToken: @Sendable (PushIntent) throws -> String
    /// Converts to wall time, which phones and providers get.
    let wall: @Sendable (Instant) -> Instant

    func prepare(_ job: Job) -> Result {
        do {
            // A notice needs no wake token: there is no call to open a session for.
            let wakeToken = job.intent.purpose == .call ? try mintWakeToken(job.intent) : ""
            let request = try request(job, wakeToken: wakeToken)
            return .ready(
                Prepared(request, job.intent) { if case .ready(let prepared) = prepare(job) { prepared } else { nil } })
        } catch let fault as PushRequest.Fault {
            return .impossible(reason: fault.rawValue)
        } catch {
            return .impossible(reason: "no wake token: \(error)")
        }
    }

    private func request(_ job: Job, wakeToken: String) throws(PushRequest.Fault) -> PushRequest {
        var intent = job.intent
        intent.expiresAt = wall(intent.expiresAt)
        let profile = profiles.profile(for: intent.token)
        guard let mapped = job.mapped else {
            return try PushRequest(intent, wakeToken: wakeToken, texts: texts, profile: profile)
        }
        return try PushRequest(
            intent, mapped: mapped.token, project: mapped.project, wakeToken: wakeToken, texts: texts, profile: profile)
    }
}

extension HTTPField {
    init(_ field: PushRequest.Field) {
        self.init(field.name, field.value, isSensitive: !field.isIndexed)
    }
}
