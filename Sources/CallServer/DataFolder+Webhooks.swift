import Foundation

extension DataFolder {
    var deliveriesFile: String { path + "/webhooks.json" }

    /// The state of the webhooks' deliveries; nil when there is none.
    func deliveries() -> [UInt8]? { FileManager.default.contents(atPath: deliveriesFile).map { Array($0) } }

    /// Writes the state, replacing an earlier one.
    func save(deliveries: [UInt8]) throws {
        try Data(deliveries).write(to: URL(fileURLWithPath: deliveriesFile), options: .atomic)
    }
}
