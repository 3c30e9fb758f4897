import CallVocabulary

/// The path and limits of the admin API's WebSocket.
public enum AdminEndpoint {
    public static let path = "/v1/admin"
    public static let subprotocol = "reveille.admin.v1"
    /// The longest frame in either direction, in bytes. The largest group with the longest handles fits, with each byte
    /// escaped. It is half of the usual maximum of WebSocket libraries.
    public static let longestFrame = 1 << 19
    /// The most entries in one page of a list, unless the list has its own limit.
    public static let pageSize = 200

    /// The most entries of the page that a client asks for.
    /// - Throws: a refusal of less than one.
    package static func entries(_ limit: Int?) throws(AdminRefusal) -> Int {
        guard let limit else { return pageSize }
        guard limit > 0 else { throw AdminRefusal(.invalidParams, "params.limit: expected at least 1") }
        return min(limit, pageSize)
    }
}
