import CallCore
import CallVocabulary

/// Keeps what the core persists as a store would, and gives back at a start what is not over.
struct MemoryStore {
    struct LegKey: Hashable {
        var call: CallID
        var device: DeviceKey
    }

    private(set) var devices = Table<DeviceKey, DeviceRecord>()
    private(set) var calls = Table<CallID, CallRecord>()
    private(set) var legs = Table<LegKey, LegRecord>()
    private var devicesOfCall: [CallID: [DeviceKey]] = [:]
    private(set) var pushes = Table<PushID, PushRecord>()
    private(set) var offers = Table<CallID, OfferRecord>()
    private(set) var missed: [RecoveredState.Missed] = []

    mutating func apply(_ record: StoreRecord) {
        switch record {
        case .device(let device): devices[device.key] = device
        case .call(let call): calls[call.id] = call
        case .leg(let leg):
            let key = LegKey(call: leg.call, device: leg.device)
            if legs[key] == nil { devicesOfCall[leg.call, default: []].append(leg.device) }
            legs[key] = leg
        case .push(let push): pushes[push.id] = push
        case .offer(let offer): offers[offer.call] = offer
        case .offerDropped(let call): offers[call] = nil
        case .missed(let user, let call): missed.append(RecoveredState.Missed(user: user, call: call))
        case .missedCleared(let user, let upTo): missed.removeAll { $0.user == user && $0.call.at <= upTo }
        }
    }

    func recovered() -> RecoveredState {
        var state = RecoveredState()
        let withOpenPush = Set(pushes.values.filter(\.isOpen).map(\.call))
        state.devices = devices.values
        state.calls = calls.values.filter { $0.state.isLive || withOpenPush.contains($0.id) }
        let kept = Set(state.calls.map(\.id))
        state.legs = legs.values.filter { kept.contains($0.call) }
        state.pushes = pushes.values.filter { kept.contains($0.call) }
        state.offers = offers.values.filter { kept.contains($0.call) }
        state.missed = missed
        return state
    }

    func legs(of call: CallID) -> [LegRecord] {
        (devicesOfCall[call] ?? []).compactMap { legs[LegKey(call: call, device: $0)] }
    }
}

/// A dictionary that is walked in the order its keys were first set.
struct Table<Key: Hashable, Value> {
    private var order: [Key] = []
    private var entries: [Key: Value?] = [:]

    var values: [Value] { order.compactMap { entries[$0] ?? nil } }

    subscript(key: Key) -> Value? {
        get { entries[key] ?? nil }
        set {
            if entries.updateValue(newValue, forKey: key) == nil { order.append(key) }
        }
    }
}

extension PushRecord {
    var isOpen: Bool { status == .intended || status == .sent || report == .awaited }
}
