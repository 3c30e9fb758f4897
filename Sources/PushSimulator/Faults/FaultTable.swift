/// The faults waiting to happen. The one injected first is taken first.
struct FaultTable {
    private(set) var faults: [PushFault] = []

    mutating func add(_ fault: PushFault) {
        if fault.count ?? 1 > 0 { faults.append(fault) }
    }

    mutating func clear() { faults = [] }

    /// What is to go wrong with a request; uses up one of the fault's count.
    ///
    /// A number is drawn for each fault with a rate that the request might meet, and for no other: equal requests and
    /// equal seeds have equal fates.
    /// - Parameter deviceToken: nil for a request that is for no single device.
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
