import EventLoop
import OutgoingHTTP
import TLS

/// The provider's key set, for any thread.
struct KeySource: Sendable {
    let address: WebAddress
    private let set: LoopBound<RemoteKeySet>

    /// - Throws: `TLSFailure` when the system's trust anchors cannot be loaded.
    static func make(_ environment: RemoteKeySet.Environment, on loop: EventLoop) async throws -> KeySource? {
        let tls = try TLSClientContext.webClient.get()
        let set = await loop.run { LoopBound(RemoteKeySet(environment, loop: loop, tls: tls), on: loop) }
        return set.map { KeySource(address: environment.address, set: $0) }
    }

    /// Fetches the set now, and then whenever it is due.
    func begin() { set.loop.execute { [set] in set.value.begin() } }

    /// Answers false when the loop has ended.
    func fetchNewer() async -> Bool {
        let (answers, answer) = AsyncStream.makeStream(of: Bool.self)
        set.loop.execute { [set] in
            set.value.askForNewer {
                answer.yield($0)
                answer.finish()
            }
        }
        // A closure that is dropped ends the stream.
        for await isNewer in answers { return isNewer }
        return false
    }

    func stop() async { _ = await set.loop.run { [set] in set.value.stop() } }
}
