/// How the admin API is asked for in the WebSocket handshake.
public enum AdminProtocol {
    public static let path = "/v1/admin"
    public static let subprotocol = "reveille.admin.v1"
}
