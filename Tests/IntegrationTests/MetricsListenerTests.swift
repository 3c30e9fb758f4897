import CallServer
import CallVocabulary
import EventLoop
import Foundation
import LibWebSockets
import TestCleanup
import Testing

@Suite("The addresses that serve metrics", .world)
struct MetricsListenerTests {
    @Test("the clients' port has no metrics and no reasons; the metrics listener and the admin socket have both")
    func places() async throws {
        let server = try await world.startServer()
        let clients = "http://\(server.address)"
        let listener = "http://\(try #require(server.metricsAddress))"
        let socket = ["--unix-socket", world.folder + "/admin.sock", "http://reveille"]
        for path in ["/metrics", "/metrics/", "/Metrics", "/nowhere"] {
            #expect(try await HTTPAnswer.curl(clients + path).status == 404, "\(path)")
        }
        #expect(try await HTTPAnswer.curl(clients + "/readyz").body == "ready")
        server.drain(within: .seconds(60))
        let hidden = try await HTTPAnswer.curl(clients + "/readyz")
        #expect(hidden.status == 503 && hidden.body == "not ready")
        let told = try await HTTPAnswer.curl(listener + "/readyz")
        #expect(told.status == 503 && told.body == "draining: this server takes no new calls")
        #expect(try await HTTPAnswer.curl(listener + "/metrics").body.contains("\nreveille_draining 1\n"))
        #expect(try await HTTPAnswer.curl(socket[0], socket[1], socket[2] + "/readyz").body == told.body)
        let metrics = try await HTTPAnswer.curl(socket[0], socket[1], socket[2] + "/metrics")
        #expect(metrics.status == 200 && metrics.body.contains("\nreveille_draining 1\n"))
        for place in [clients, listener] { #expect(try await HTTPAnswer.curl(place + "/healthz").body == "ok") }
        for (host, status) in [("evil.example:7352", 403), ("localhost:1", 200)] {
            let answer = try await HTTPAnswer.curl("--header", "Host: \(host)", listener + "/metrics")
            #expect(answer.status == status && answer.body.contains("reveille_draining") == (status == 200))
        }
        // The metrics listener serves no WebSockets and no calls.
        for path in ["/v1/signal", "/v1/admin", "/v1/calls/3554fbe6-9e3d-44fc-aaea-8955b60bb83f"] {
            #expect(try await HTTPAnswer.curl(listener + path).status == 404, "\(path)")
        }
        let upgrade = try await HTTPAnswer.curl(
            "--header", "Connection: Upgrade", "--header", "Upgrade: websocket", "--header",
            "Sec-WebSocket-Version: 13", "--header", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
            "--header", "Sec-WebSocket-Protocol: reveille.v1", listener + "/")
        #expect(upgrade.status == 404)
    }

    @Test("a page of another server reads nothing of operators, whatever pages may be clients")
    func pages() async throws {
        for origins in [AllowedOrigins.any, .only(["https://evil.example"]), .only(["https://app.example.com"])] {
            let server = try await world.startServer {
                $0.origins = origins
                // The literal is a numeric address.
                $0.admin = AdminListenerConfiguration(
                    address: SocketAddress(host: "127.0.0.1", port: 0)!, token: "0123456789abcdef")
            }
            let admin = "http://\(try #require(server.adminAddress))"
            let listeners: [(name: String, arguments: [String])] = [
                ("clients", ["http://\(server.address)"]),
                ("metrics", ["http://\(try #require(server.metricsAddress))"]),
                ("admin", ["--header", "Authorization: Bearer 0123456789abcdef", admin]),
                ("socket", ["--unix-socket", world.folder + "/admin.sock", "http://reveille"]),
            ]
            for (listener, arguments) in listeners {
                for (origin, path) in [("https://evil.example", "/metrics"), ("null", "/readyz")] {
                    let url = try #require(arguments.last) + path
                    let answer = try await HTTPAnswer.curl(
                        ["--header", "Origin: \(origin)"] + arguments.dropLast() + [url])
                    let mayRead = listener == "clients" && (origins == .any || origins == .only([origin]))
                    #expect((answer.status == 403) == !mayRead, "\(listener), \(origin), \(origins)")
                    let allowed = answer.headers["access-control-allow-origin"]
                    #expect(allowed == (mayRead ? origin : nil), "\(listener), \(origin), \(origins)")
                }
            }
            await server.stop()
        }
    }

    @Test("a port in use stops the start if it is configured, and is a warning otherwise")
    func taken() async throws {
        let first = try await world.startServer()
        let address = try #require(first.metricsAddress)
        let second = DataFolder(path: world.folder + "-second")
        atEnd { try? FileManager.default.removeItem(atPath: second.path) }
        // The literal is a numeric address.
        var configuration = ServerConfiguration(
            address: SocketAddress(host: "127.0.0.1", port: 0)!, data: second)
        configuration.metrics = MetricsListenerConfiguration(address: address)
        let failure = await #expect(throws: ServerConfigurationError.self) {
            _ = try await CallServer.start(configuration, log: World.log)
        }
        #expect(failure?.field == "metrics.listen")
        #expect(failure?.problem.contains("--metrics-listen") == true)
        configuration.metrics?.isOptional = true
        let server = try await CallServer.start(configuration, log: World.log)
        #expect(server.metricsAddress == nil)
        let metrics = try await HTTPAnswer.curl(
            "--unix-socket", second.path + "/admin.sock", "http://reveille/metrics")
        #expect(metrics.body.contains("\nreveille_ready 1\n"))
        await server.stop()
    }

    @Test("serve names the option of a port in use, in a line of JSON, and off serves no metrics")
    func program() async throws {
        let server = try await world.startServer()
        let address = try #require(server.metricsAddress)
        let folder = world.folder + "-other"
        atEnd { try? FileManager.default.removeItem(atPath: folder) }
        let refused = try await Program.reveille(
            "serve", "--data", folder, "--port", "0", "--metrics-listen", "\(address)")
        #expect(refused.ending == .exit(2))
        let last = try JSONObject(String(try #require(refused.errorLines.last)))
        #expect(last["level"] as? String == "critical")
        #expect((last["message"] as? String)?.contains("metrics.listen") == true)
        for line in refused.errorLines { _ = try JSONObject(String(line)) }
        let off = try world.start(
            Program.reveille, ["serve", "--data", folder, "--port", "0", "--metrics-listen", "off"])
        let line = try await off.errors.first("it serves") { $0.contains(#""message":"listening""#) ? $0 : nil }
        #expect(try JSONObject(line)["metrics"] as? String == "on the admin socket")
    }
}
