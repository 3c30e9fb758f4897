import PhoneSimulator

/// Which phones of a thread sleep, and which of those may be called. Confined to the phones' loop.
struct SleeperStates {
    private var isAsleep: [Bool]
    private var isTaken: [Bool]
    /// Those that sleep and are not taken, in no order.
    private var free: [Int]

    /// All of them sleep.
    init(count: Int) {
        isAsleep = Array(repeating: true, count: count)
        isTaken = Array(repeating: false, count: count)
        free = Array(0..<count)
    }

    mutating func happened(_ event: WakeablePhone.Event, to index: Int) {
        switch event {
        case .woken: isAsleep[index] = false
        // An app that its system has ended is as offline as one that sleeps, and the next push starts it.
        case .asleep, .killed:
            let wasAsleep = isAsleep[index]
            isAsleep[index] = true
            if !wasAsleep, !isTaken[index] { free.append(index) }
        case .app, .failed, .unreachable, .pushed, .notified, .reportedToSystem, .reportedToServer: break
        }
    }

    func sleeps(_ index: Int) -> Bool { isAsleep[index] }
    var freeCount: Int { free.count }

    /// Takes one of the phones that sleep and are free; nil when there is none.
    mutating func take(_ generator: inout some RandomNumberGenerator) -> Int? {
        guard !free.isEmpty else { return nil }
        free.swapAt(Int.random(in: free.indices, using: &generator), free.count - 1)
        let index = free.removeLast()
        isTaken[index] = true
        return index
    }

    /// Gives a phone back that was taken; it is free once it sleeps.
    mutating func release(_ index: Int) {
        isTaken[index] = false
        if isAsleep[index] { free.append(index) }
    }
}
