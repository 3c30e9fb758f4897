import CallMonitor
import EventLoop
import OutgoingHTTP
import TLS

/// What became of a fetch of the provider's keys for a token.
struct KeyFetch: Sendable {
    /// Whether the keys have changed.
    let isNewer: Bool
    /// When another fetch may find the token's key; nil when that is settled, because this fetch began after the token
    /// had come.
    let retryAfter: Duration?
}

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

    func fetchNewer() async -> KeyFetch {
        let (answers, answer) = AsyncStream.makeStream(of: KeyFetch.self)
        let isAsked = set.loop.execute { [set] in
            set.value.askForNewer {
                answer.yield($0)
                answer.finish()
            }
        }
        // On a loop that has stopped nobody answers, nor ends the stream.
        if isAsked { for await fetch in answers { return fetch } }
        return KeyFetch(isNewer: false, retryAfter: RemoteKeySet.shortestWait)
    }

    /// Fetches the set at once, because an operator asks. Returns when that has ended.
    func refetch() async {
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        guard set.loop.execute({ [set] in set.value.refetch { end.finish() } }) else { return }
        for await _ in ends {}
    }

    /// nil after the loop's end.
    func health() async -> ServerFacts.IdentityKeys? { await set.loop.run { [set] in set.value.health } }

    func stop() async { _ = await set.loop.run { [set] in set.value.stop() } }
}
