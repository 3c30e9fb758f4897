import Foundation

extension DataFolder {
    private static let webhooksFile = "webhooks.json"
    var deliveriesFile: String { path + "/" + Self.webhooksFile }

    /// The state of the webhooks' deliveries; nil when there is none.
    func deliveries() -> [UInt8]? {
        FileManager.default.contents(atPath: deliveriesFile).map { Array($0) }
    }

    /// Writes the state, replacing an earlier one.
    func save(deliveries: [UInt8]) throws {
        try replace(Self.webhooksFile, with: deliveries)
    }
}
