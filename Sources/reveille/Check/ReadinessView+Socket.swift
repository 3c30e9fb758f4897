import AdminProtocol
import EventLoop
import Foundation

extension ReadinessView {
    /// What the server at an admin socket says of itself; nil when none answers. Blocks for seconds at most.
    static func read(at socket: SocketAddress, seconds: Int) -> ReadinessView? {
        let request = [
            "GET /readyz HTTP/1.1", "Host: localhost", "Accept: application/json", "Connection: close", "", "",
        ].joined(separator: "\r\n")
        let end = Array("\r\n\r\n".utf8)
        return socket.ask(Array(request.utf8), seconds: seconds) { answer -> ReadinessView? in
            guard let head = answer.indices.first(where: { answer[$0...].starts(with: end) }) else { return nil }
            return try? JSONDecoder().decode(ReadinessView.self, from: Data(answer[(head + end.count)...]))
        }
    }
}
