/// How the admin API is asked for in the WebSocket handshake.
public enum AdminEndpoint {
    public static let path = "/v1/admin"
    public static let subprotocol = "reveille.admin.v1"
    /// The longest frame, in either direction, in bytes. A group of the most members fits with the longest handles, each
    /// byte of them escaped; and it is half of what WebSocket libraries commonly take at most.
    public static let longestFrame = 1 << 19
    /// Entries in one page of a list at most, unless the list says otherwise.
    public static let pageSize = 200
}
