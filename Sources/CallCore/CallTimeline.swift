import CallVocabulary

/// The timeline of a call, built from its records: which step, when, by which party.
public struct CallTimeline: Equatable, Sendable {
    public struct Entry: Equatable, Sendable {
        public var at: Instant
        public var step: Step
        public var by: Party?
        /// The reason of a push or of an end.
        public var detail: String?
    }

    public enum Step: String, Sendable, CaseIterable {
        case invited
        case forwarded
        case pushIntended = "push_intended"
        case pushSent = "push_sent"
        case pushAccepted = "push_accepted"
        case pushRejected = "push_rejected"
        case pushUnknown = "push_unknown"
        case pushCancelled = "push_cancelled"
        case pushExpired = "push_expired"
        case woken
        case offered
        case pushReported = "push_reported"
        case pushActed = "push_acted"
        case pushUnreported = "push_unreported"
        case ringing
        case answered
        case callerConnected = "caller_connected"
        case calleeConnected = "callee_connected"
        case connected
        case connectionLost = "connection_lost"
        case cameBack = "came_back"
        case legEnded = "leg_ended"
        case ended
    }

    /// In chronological order.
    public let entries: [Entry]

    public init(call: CallRecord, legs: [LegRecord], pushes: [PushRecord], absences: [AbsenceRecord] = []) {
        var entries: [Entry] = []
        func add(_ at: Instant?, _ step: Step, _ by: Party?, _ detail: String? = nil) {
            if let at { entries.append(Entry(at: at, step: step, by: by, detail: detail)) }
        }
        add(call.createdAt, .invited, call.caller)
        for forward in call.forwards {
            add(forward.at, .forwarded, nil, "to \(Self.text(forward.to)): \(forward.reason.rawValue)")
        }
        for push in pushes { Self.add(push, add) }
        for leg in legs {
            let party = Party(user: leg.device.user, device: leg.device.device)
            add(leg.wokenAt, .woken, party)
            add(leg.offeredAt, .offered, party)
            add(leg.ringingAt, .ringing, party)
            add(leg.answeredAt, .answered, party)
            if leg.endReason != call.endReason || leg.endedAt != call.endedAt {
                add(leg.endedAt, .legEnded, party, leg.endReason?.rawValue)
            }
        }
        add(call.callerConnectedAt, .callerConnected, call.caller)
        add(call.calleeConnectedAt, .calleeConnected, call.answeredBy)
        add(call.connectedAt, .connected, nil)
        for absence in absences {
            let party = absence.role == .caller ? call.caller : call.answeredBy
            add(absence.lostAt, .connectionLost, party)
            add(absence.returnedAt, .cameBack, party)
        }
        add(call.endedAt, .ended, call.endedBy, call.endReason?.rawValue)
        let order = Step.allCases
        // Steps of one millisecond are sorted by the order in which they can occur.
        self.entries = entries.enumerated().sorted { a, b in
            let ranks = (order.firstIndex(of: a.element.step)!, order.firstIndex(of: b.element.step)!)
            return (a.element.at.milliseconds, ranks.0, a.offset) < (b.element.at.milliseconds, ranks.1, b.offset)
        }.map(\.element)
    }

    private static func text(_ target: CallTarget) -> String {
        switch target {
        case .user(let handle): handle.text
        case .users(let handles): handles.map(\.text).joined(separator: ",")
        case .group(let name): "group:\(name)"
        }
    }

    private static func add(_ push: PushRecord, _ add: (Instant?, Step, Party?, String?) -> Void) {
        let party = Party(user: push.device.user, device: push.device.device)
        add(push.intendedAt, .pushIntended, party, push.purpose == .call ? nil : push.purpose.rawValue)
        add(push.sentAt, .pushSent, party, nil)
        switch push.status {
        case .intended, .sent: break
        case .accepted: add(push.answeredAt, .pushAccepted, party, push.reason)
        case .rejected: add(push.answeredAt, .pushRejected, party, push.reason)
        case .unknown: add(push.answeredAt, .pushUnknown, party, push.reason)
        case .cancelled: add(push.answeredAt, .pushCancelled, party, push.reason)
        case .expired: add(push.answeredAt, .pushExpired, party, push.reason)
        }
        switch push.report {
        case nil, .awaited: break
        case .unreported: add(push.reportedAt, .pushUnreported, party, nil)
        case .acted: add(push.reportedAt, .pushActed, party, nil)
        case .reported, .notRequired, .filtered, .reportFailed, .reportedLate:
            add(push.reportedAt, .pushReported, party, push.report.map { $0 == .reported ? nil : $0.rawValue } ?? nil)
        }
    }
}
