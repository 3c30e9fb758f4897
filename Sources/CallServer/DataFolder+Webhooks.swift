extension DataFolder {
    private static let webhooksFile = "webhooks.json"
    var deliveriesFile: String { path + "/" + Self.webhooksFile }

    /// The state of the webhooks' deliveries; nil when there is none.
    /// - Throws: ``Failure`` for a file that cannot be read: it is not taken for none, because all stored events would be
    ///   sent again.
    func deliveries() throws(Failure) -> [UInt8]? {
        try Self.bytes(at: deliveriesFile, without: "then all stored events are sent again")
    }

    /// Writes the state, replacing an earlier one.
    func save(deliveries: [UInt8]) throws {
        try replace(Self.webhooksFile, with: deliveries)
    }
}
