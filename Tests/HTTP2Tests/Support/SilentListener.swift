import EventLoop
import TestCleanup

/// Accepts connections, says one thing or nothing, and never answers.
final class SilentListener: Sendable {
    let address: SocketAddress
    private let state: LoopBound<State>

    private final class State {
        var acceptor: SocketAcceptor?
        var connections: [TCPConnection] = []
    }

    init(on loop: EventLoop, says words: String = "") async throws {
        let made = await loop.run { () -> Result<(SocketAddress, LoopBound<State>), any Error> in
            Result {
                let state = State()
                let any = SocketAddress(host: "127.0.0.1", port: 0)!  // A numeric address.
                let acceptor = try SocketAcceptor(loop: loop, address: any) { descriptor in
                    let connection = TCPConnection.adopt(loop: loop, descriptor: descriptor) { _ in }
                    connection.write(Array(words.utf8))
                    state.connections.append(connection)
                }
                state.acceptor = acceptor
                return (acceptor.address, LoopBound(state, on: loop))
            }
        }
        guard let made else { throw LoopStopped() }
        (address, state) = try made.get()
    }
}

/// An address on which nothing listens.
func freeAddress() throws -> SocketAddress {
    // A numeric address.
    try SocketAddress(host: "127.0.0.1", port: freePort())!
}
