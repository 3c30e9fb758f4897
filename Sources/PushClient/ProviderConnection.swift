import CallVocabulary
import EventLoop
import HTTP2
import PushCore

/// One connection of a pool: resolves the host, connects, and converts events to inputs of the machine. Confined to the
/// push loop.
final class ProviderConnection {
    /// The shortest timeout for one address: three round trips of a slow path.
    private static let shortestAttempt = Duration.seconds(2)

    /// The header fields of an answer that are read.
    private static let wantedFields = ["retry-after"]
    /// An orderly end takes two (RFC 9113, section 6.8).
    private static let mostGoAways = 8

    let id: PushConnectionID
    private let loop: EventLoop
    private let endpoint: PushRoute
    private let now: @Sendable () -> Instant
    /// nil once the connection was closed locally: no more inputs follow.
    private var onInput: ((PushInput) -> Void)?
    /// Called with the reason in the first GOAWAY; only for the log.
    private let onNote: (String) -> Void
    private var connection: HTTP2ClientConnection?
    /// Incomplete responses. Few at a time, because most arrive in one piece.
    private var responses: [Response] = []
    private var hasOpened = false
    private var goAways = 0

    /// The received part of a response.
    private struct Response {
        let stream: StreamID
        let status: Int
        /// The provider's requested pause.
        let retryAfter: Duration?
        var body: [UInt8] = []
    }

    init(
        id: PushConnectionID, loop: EventLoop, endpoint: PushRoute, now: @escaping @Sendable () -> Instant,
        onNote: @escaping (String) -> Void, onInput: @escaping (PushInput) -> Void
    ) {
        self.id = id
        self.loop = loop
        self.endpoint = endpoint
        self.now = now
        self.onNote = onNote
        self.onInput = onInput
    }

    /// Resolves the host again, because a provider's front ends change, and tries its addresses in order.
    func open() {
        NameLookup.resolve(loop: loop, host: endpoint.host, port: endpoint.port) { [weak self] found in
            guard let self, onInput != nil else { return }
            switch found {
            case .success(let addresses):
                // The connections of a pool start at different addresses, so one bad front end does not affect them
                // all.
                let first = Int(id.serial % UInt64(addresses.count))
                connect(to: Array(addresses[first...] + addresses[..<first]))
            case .failure(let error): report(.closed(id, reason: error.description))
            }
        }
    }

    private func connect(to addresses: [SocketAddress]) {
        // Never empty: a lookup without an address fails.
        let rest = Array(addresses.dropFirst())
        // Each address gets a part of the timeout, so an unresponsive address leaves time for the others.
        let share = max(Self.shortestAttempt, endpoint.policy.connectTimeout / (rest.count + 1))
        connection = HTTP2ClientConnection.connect(
            loop: loop, to: addresses[0], serverName: endpoint.host, tls: endpoint.tls,
            wantedFields: Self.wantedFields, handshakeTimeout: share
        ) { [self] event in
            // Captured strongly, because a weak capture costs much for every answer; the last event ends the cycle.
            handle(event, untried: rest)
        }
    }

    /// - Returns: nil when the connection accepts no request now.
    func submit(_ request: PreparedRequest) -> StreamID? {
        connection?.submit(request)
    }

    /// Reports the statuses of incomplete answers, before some of them time out.
    func reportStatuses() {
        for response in responses {
            report(.statusRead(id, stream: response.stream.rawValue, answer(response)))
        }
    }

    func cancel(stream: Int32) {
        if let index = response(on: StreamID(rawValue: stream)) { responses.remove(at: index) }
        connection?.reset(StreamID(rawValue: stream), .cancel)
    }

    func ping() {
        connection?.ping()
    }

    /// Closes without an input to the machine, which has dropped the connection.
    func close() {
        onInput = nil
        connection?.close()
        connection = nil
    }

    private func handle(_ event: HTTP2ClientConnection.Event, untried: [SocketAddress]) {
        guard onInput != nil else { return }
        switch event {
        case .opened: break
        case .settings(let limit):
            report(hasOpened ? .streamLimitChanged(id, limit) : .opened(id, streamLimit: limit))
            hasOpened = true
        case .headers(let stream, let status, let fields):
            responses.append(
                Response(stream: stream, status: status, retryAfter: status == 200 ? nil : retryAfter(fields)))
        case .data(let stream, let bytes): append(bytes, to: stream)
        case .streamClosed(let stream, let code): streamClosed(stream, code)
        case .goAway(let lastStream, let code, let debug): goneAway(lastStream, code, debug)
        case .pingAnswered: report(.pingAnswered(id))
        case .closed(let failure):
            connection = nil
            if !hasOpened, !untried.isEmpty { return connect(to: untried) }
            closed(reason: failure?.description ?? "closed by the peer")
        }
    }

    private func goneAway(_ lastStream: StreamID, _ code: HTTP2ErrorCode, _ debug: [UInt8]) {
        goAways += 1
        guard goAways <= Self.mostGoAways else {
            closed(reason: "the peer has sent more than \(Self.mostGoAways) GOAWAYs")
            return close()
        }
        if goAways == 1 {
            let text = String(decoding: debug.prefix(200), as: UTF8.self).printable
            onNote("GOAWAY \(code), last stream \(lastStream)\(text.isEmpty ? "" : ": \(text)")")
        }
        report(.goneAway(id, lastStream: lastStream.rawValue, reason: code.description))
    }

    private func append(_ bytes: UnsafeRawBufferPointer, to stream: StreamID) {
        guard let index = response(on: stream) else { return }
        let received = responses[index].body.count
        responses[index].body.append(contentsOf: bytes.prefix(PushAnswer.longestBody - received))
    }

    private func response(on stream: StreamID) -> Int? { responses.lastIndex { $0.stream == stream } }

    private func streamClosed(_ stream: StreamID, _ code: HTTP2ErrorCode) {
        if let index = response(on: stream) {
            // The status decides; a truncated body does not change the result.
            answered(responses.remove(at: index))
        } else if code == .refusedStream {
            report(.streamRefused(id, stream: stream.rawValue))
        } else {
            report(.streamLost(id, stream: stream.rawValue, reason: "stream ended without an answer: \(code)"))
        }
    }

    private func closed(reason: String) {
        for response in responses.sorted(by: { $0.stream < $1.stream }) { answered(response) }
        responses = []
        report(.closed(id, reason: reason))
        onInput = nil
    }

    private func answered(_ response: Response) {
        report(.answered(id, stream: response.stream.rawValue, answer(response)))
    }

    private func answer(_ response: Response) -> PushAnswer {
        endpoint.answer(status: response.status, body: response.body, retryAfter: response.retryAfter)
    }

    private func retryAfter(_ fields: [HTTPField]) -> Duration? {
        fields.first { $0.name == "retry-after" }.flatMap { RetryAfter.duration($0.value, now: now()) }
    }

    private func report(_ input: PushInput) {
        onInput?(input)
    }
}

@available(*, unavailable)
extension ProviderConnection: Sendable {}
