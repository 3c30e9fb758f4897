/// The path and limits of the admin API's WebSocket.
public enum AdminEndpoint {
    public static let path = "/v1/admin"
    public static let subprotocol = "reveille.admin.v1"
    /// The longest frame in either direction, in bytes. The largest group with the longest handles fits, with each byte
    /// escaped. It is half of the usual maximum of WebSocket libraries.
    public static let longestFrame = 1 << 19
    /// The most entries in one page of a list, unless the list has its own limit.
    public static let pageSize = 200
}
