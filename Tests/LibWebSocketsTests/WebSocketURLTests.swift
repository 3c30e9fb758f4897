import LibWebSockets
import Testing

@Suite("WebSocket URLs")
struct WebSocketURLTests {
    @Test(
        "are taken apart, with the standard ports and paths where they are left out",
        arguments: [
            ("ws://host:7350/v1/signal", WebSocketURL(isSecure: false, host: "host", port: 7350, path: "/v1/signal")),
            ("wss://a.example", WebSocketURL(isSecure: true, host: "a.example", port: 443, path: "/")),
            ("ws://a?x=1", WebSocketURL(isSecure: false, host: "a", port: 80, path: "/?x=1")),
            ("ws://[::1]:80/x#y", WebSocketURL(isSecure: false, host: "::1", port: 80, path: "/x")),
            ("wss://[fe80::1]", WebSocketURL(isSecure: true, host: "fe80::1", port: 443, path: "/")),
        ])
    func parse(text: String, expected: WebSocketURL) {
        #expect(WebSocketURL(text) == expected)
    }

    @Test("are written the way they are read")
    func roundTrip() {
        for text in ["ws://localhost:7350/v1/signal", "wss://[::1]:8443/"] {
            #expect(WebSocketURL(text)?.description == text)
        }
    }

    @Test(
        "that are none are refused",
        arguments: [
            "", "http://a", "ws://", "ws:///x", "ws://a:0", "ws://a:65536", "ws://a:x", "ws://a:1:2", "ws://[::1",
            "ws://::1]", "ws://[::1]x", "ws://u@a", "ws://a b", "ws://a/\r\nHost: b", "ws://[]:1", "ws://a:+5",
            "ws://a:-1", "ws://a:", "ws://a:1e4", "ws://a:9223372036854775807", "ws://a:18446744073709551615",
            "ws://a:99999999999999999999", "ws://[::1]:+5",
        ])
    func refused(text: String) {
        #expect(WebSocketURL(text) == nil)
    }
}
