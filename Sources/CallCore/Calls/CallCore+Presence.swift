import CallVocabulary

/// The time a party of a live call is without a connection, until it returns or the call ends.
struct Absence {
    let lostAt: Instant
    /// When the call ends unless the party has returned.
    let until: Instant
    var isRecorded: Bool
}

/// The absences of a call's two parties.
struct Absences {
    var caller: Absence?
    var callee: Absence?
    /// How many absences of the call are on disk.
    var recorded = 0

    subscript(role: CallRole) -> Absence? {
        get {
            switch role {
            case .caller: caller
            case .callee: callee
            }
        }
        set {
            switch role {
            case .caller: caller = newValue
            case .callee: callee = newValue
            }
        }
    }
}

/// Tracks whether the two parties of a call have a connection. The other side of an answered call is told; the call's
/// timeline records it.
extension CallCore {
    /// The most absences on disk for one call: a phone with bad reception connects and disconnects all the time.
    private static let mostRecorded = 32

    /// The device has lost the connection over which it hears of the call.
    func noteAway(_ device: Device, from call: Call) {
        guard let role = call.partyRole(of: device), call.absences[role] == nil else { return }
        let until = now + timers.resume
        call.absences[role] = Absence(lostAt: now, until: until, isRecorded: false)
        noteFollowed(call)
        recordAbsence(role, of: call)
        if call.answer != nil { tellPeer(of: device, in: call, .away(until: until)) }
    }

    /// The device has a session again.
    func noteBack(_ session: Session) {
        let device = session.device
        for call in device.user.liveCalls where session.mayAct(on: call.id) {
            guard let role = call.partyRole(of: device), call.absences[role] != nil else { continue }
            recordAbsence(role, of: call, returnedAt: now)
            call.absences[role] = nil
            noteFollowed(call)
            if call.answer != nil { tellPeer(of: device, in: call, .back) }
        }
    }

    /// Tells the winner of a call that the caller has no connection.
    func tellOfAbsentCaller(_ call: Call) {
        guard let absence = call.absences.caller else { return }
        tellPeer(of: call.callerDevice, in: call, .away(until: absence.until))
    }

    private func tellPeer(of device: Device, in call: Call, _ presence: PeerChange.Presence) {
        let peer = call.callerDevice === device ? call.answer?.leg.device : call.callerDevice
        guard let session = peer?.session(for: call) else { return }
        deliver(.peer(PeerChange(call: call.id, presence: presence, at: now, by: device.party)), to: session)
    }

    /// - Parameter returnedAt: nil while the party is away.
    func recordAbsence(_ role: CallRole, of call: Call, returnedAt: Instant? = nil) {
        guard let absence = call.absences[role], absence.isRecorded || call.absences.recorded < Self.mostRecorded else {
            return
        }
        if !absence.isRecorded { call.absences.recorded += 1 }
        call.absences[role]?.isRecorded = true
        persist(
            .absence(
                AbsenceRecord(call: call.id, role: role, lostAt: absence.lostAt, returnedAt: returnedAt)))
    }

    /// Starts the absence of a party after a restart: each party has been without a session since then at the latest.
    /// It is recorded once its end is known.
    func awaitParty(_ device: Device, of call: Call) {
        guard let role = call.partyRole(of: device) else { return }
        let open = call.absences[role]
        call.absences[role] = Absence(
            lostAt: open?.lostAt ?? now, until: now + timers.resume, isRecorded: open != nil)
        awaitReturn(of: device)
    }
}
