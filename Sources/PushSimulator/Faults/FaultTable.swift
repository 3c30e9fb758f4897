/// The pending faults. The oldest matching fault applies first.
struct FaultTable {
    private(set) var faults: [PushFault] = []

    mutating func add(_ fault: PushFault) {
        if fault.count ?? 1 > 0 { faults.append(fault) }
    }

    mutating func clear() { faults = [] }

    /// Returns the fault for a request and decrements its count.
    ///
    /// Draws a random number for each matching fault with a rate, and for no other, so that a seed gives equal requests
    /// equal faults.
    /// - Parameter deviceToken: nil for a request without a single device.
    mutating func take(
        _ service: PushFault.Service, deviceToken: String?, random: inout some RandomNumberGenerator
    ) -> PushFault? {
        for (index, fault) in faults.enumerated() where fault.service == service {
            guard fault.deviceToken == nil || fault.deviceToken == deviceToken else { continue }
            if fault.rate < 1, Double.random(in: 0..<1, using: &random) >= fault.rate { continue }
            if let count = fault.count {
                if count == 1 { faults.remove(at: index) } else { faults[index].count = count - 1 }
            }
            return fault
        }
        return nil
    }
}
