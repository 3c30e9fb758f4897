import CallCore
import CallVocabulary
import PushVocabulary

/// The push client as the core sees it: it lines pushes up, asks back when there is room, and tells how they ended.
struct PushClient {
    enum Phase {
        case waiting
        /// The core was asked for its last word.
        case announced
        case onWire
    }

    private(set) var orders: [PushID: PushIntent] = [:]
    private var phases: [PushID: Phase] = [:]
    private var intent: [PushID] = []
    /// How often each push went out, and how often it came back unprocessed.
    private(set) var sent: [PushID: Int] = [:]
    private(set) var returned: [PushID: Int] = [:]

    mutating func queue(_ push: PushIntent) {
        guard phases[push.id] == nil else { return }
        orders[push.id] = push
        phases[push.id] = .waiting
        intent.append(push.id)
    }

    mutating func announce(_ id: PushID) {
        if phases[id] == .waiting { phases[id] = .announced }
    }

    mutating func transmit(_ id: PushID) {
        guard phases[id] == .announced else { return }
        phases[id] = .onWire
        sent[id, default: 0] += 1
    }

    mutating func drop(_ id: PushID) {
        if phases[id] == .waiting || phases[id] == .announced { forget(id) }
    }

    mutating func end(_ id: PushID, _ outcome: PushOutcome) {
        if outcome == .returned {
            returned[id, default: 0] += 1
            phases[id] = .waiting
        } else {
            forget(id)
        }
    }

    private mutating func forget(_ id: PushID) {
        phases[id] = nil
        orders[id] = nil
        intent.removeAll { $0 == id }
    }

    func phase(of id: PushID) -> Phase? { phases[id] }
    var waiting: [PushID] { intent.filter { phases[$0] == .waiting } }
    var announced: [PushID] { intent.filter { phases[$0] == .announced } }
    var onWire: [PushID] { intent.filter { phases[$0] == .onWire } }
}
