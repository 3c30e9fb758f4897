import CallVocabulary
import EventLoop
import HTTP2
import PushCore

/// One connection of a pool: looks the host up, connects, and turns what happens on it into inputs of the machine.
/// Lives on the push loop.
final class ProviderConnection {
    /// For one address: three round trips of a slow path.
    private static let shortestAttempt = Duration.seconds(2)

    /// What an answer may say besides its status and its body.
    private static let wantedFields = ["retry-after"]

    let id: PushConnectionID
    private let loop: EventLoop
    private let endpoint: PushRoute
    private let now: @Sendable () -> Instant
    /// nil once it was closed from here: nothing more is told.
    private var onInput: ((PushInput) -> Void)?
    /// Told the reason that came with a GOAWAY; only for the log.
    private let onNote: (String) -> Void
    private var connection: HTTP2ClientConnection?
    /// Begun and not over: few at a time, as most come in one piece.
    private var responses: [Response] = []
    private var hasOpened = false

    /// What has come of a response so far.
    private struct Response {
        let stream: StreamID
        let status: Int
        /// How long the provider wants to be left alone.
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

    /// Looks the host up anew, as a provider's front ends come and go, and connects to one address after the other.
    func open() {
        if let address = SocketAddress(host: endpoint.host, port: endpoint.port) { return connect(to: [address]) }
        NameLookup.resolve(loop: loop, host: endpoint.host, port: endpoint.port) { [weak self] found in
            guard let self, onInput != nil else { return }
            switch found {
            case .success(let addresses):
                // The connections of a pool start at different addresses, so that one bad front end is not the pool's.
                let first = Int(id.serial % UInt64(addresses.count))
                connect(to: Array(addresses[first...] + addresses[..<first]))
            case .failure(let error): report(.closed(id, reason: error.description))
            }
        }
    }

    private func connect(to addresses: [SocketAddress]) {
        // Never empty: a lookup without an address fails.
        let rest = Array(addresses.dropFirst())
        // A share for each, so that one address that swallows everything does not take the time of the others.
        let share = max(Self.shortestAttempt, endpoint.policy.connectTimeout / (rest.count + 1))
        connection = HTTP2ClientConnection.connect(
            loop: loop, to: addresses[0], serverName: endpoint.host, tls: endpoint.tls,
            wantedFields: Self.wantedFields, handshakeTimeout: share
        ) { [self] event in
            // Not weakly, which costs much for every answer: its end is the connection's last event.
            handle(event, untried: rest)
        }
    }

    /// - Returns: nil when the connection takes no request now.
    func submit(_ request: PreparedRequest) -> StreamID? {
        connection?.submit(request)
    }

    /// Tells what has come of answers that have not ended, before time is up for some of them.
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

    /// Closes without a word to the machine, which has let go of it.
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
        case .goAway(let lastStream, let code, let debug):
            let text = String(decoding: debug.prefix(200), as: UTF8.self)
            onNote("GOAWAY \(code), last stream \(lastStream)\(text.isEmpty ? "" : ": \(text)")")
            report(.goneAway(id, lastStream: lastStream.rawValue, reason: code.description))
        case .pingAnswered: report(.pingAnswered(id))
        case .closed(let failure):
            connection = nil
            if !hasOpened, !untried.isEmpty { return connect(to: untried) }
            closed(reason: failure?.description ?? "closed by the peer")
        }
    }

    private func append(_ bytes: UnsafeRawBufferPointer, to stream: StreamID) {
        guard let index = response(on: stream) else { return }
        let received = responses[index].body.count
        responses[index].body.append(contentsOf: bytes.prefix(PushAnswer.longestBody - received))
    }

    private func response(on stream: StreamID) -> Int? { responses.lastIndex { $0.stream == stream } }

    private func streamClosed(_ stream: StreamID, _ code: HTTP2ErrorCode) {
        if let index = response(on: stream) {
            // The status has decided; a body that was cut short takes nothing from it.
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
