import CallCore
import CallVocabulary
import LibWebSockets
import Logging
import ServerLog
import WebSocketServer

/// The sinks of all shards' session traces. May be used from any thread.
struct SessionRecords: Sendable {
    let counters = SessionCounters()
    let addresses = SessionAddresses()
    let refusals: RefusalLog

    init(log: Logger) {
        refusals = RefusalLog(log: log)
    }
}

/// Logs and counts the sessions of one shard: opened, refused and closed.
///
/// | line | level |
/// |---|---|
/// | `session opened`, with `kind` `opened`, `resumed` or `woken` | info |
/// | `connection closed`, of a session | info |
/// | `connection closed`, without a session | debug |
/// | `session refused`, `request refused`, `handshake refused`, `closed for abuse` | notice, see ``RefusalLog`` |
///
/// Lines at info are passed on together, with one wake-up of the log's thread. Confined to the shard's loop.
final class SessionTrace {
    private let shard: Int
    private let records: SessionRecords
    private let clock: ServerClock
    private let sheet: LineSheet

    init(shard: Int, records: SessionRecords, clock: ServerClock, log: Logger) {
        self.shard = shard
        self.records = records
        self.clock = clock
        sheet = LineSheet(log)
    }

    /// Passes on the lines written since the last flush.
    func flush() { sheet.flush() }

    /// The core has opened a session on `connection`.
    func opened(_ opened: SessionOpened, on connection: WebSocketConnection, _ state: ConnectionState) {
        let outcome = SessionOutcome(opened, isWake: state.wakeCall != nil)
        records.counters.count(outcome)
        guard let device = state.holder?.key else { return }
        records.addresses.set(device, id(connection), connection.address)
        guard sheet.writes(.info) else { return }
        sheet.begin(.info, "session opened")
        sheet.add("address", connection.peer)
        if let call = state.wakeCall { sheet.add("call_id", call) }
        sheet.add("device_id", device.device)
        sheet.add("kind", outcome.rawValue)
        sheet.add("session_id", opened.session)
        sheet.add("user", device.user.text)
        sheet.end()
    }

    /// Logs and counts a refused `session.open`.
    func refused(
        _ outcome: SessionOutcome, _ detail: String, on connection: WebSocketConnection, user: Handle? = nil,
        device: DeviceID? = nil
    ) {
        records.counters.count(outcome)
        records.refusals.write(
            Refusal(
                kind: .session, peer: connection.address, reason: outcome.rawValue, detail: detail, user: user,
                device: device),
            now: clock.now())
    }

    /// Logs a client that ignores the rate limits and is disconnected.
    func abused(_ connection: WebSocketConnection, _ state: ConnectionState) {
        records.refusals.write(
            Refusal(
                kind: .abuse, peer: connection.address, reason: "rate_limited", user: state.holder?.grant.user,
                device: state.holder?.device),
            now: clock.now())
    }

    func closed(_ connection: WebSocketConnection, _ state: ConnectionState) {
        let (by, code) = (ClosedBy(connection.ending), connection.ending.code)
        records.counters.countClose(by: by, code: code)
        let device = state.isOpen ? state.holder?.key : nil
        if let device { records.addresses.remove(device, id(connection)) }
        let level = device == nil ? Logger.Level.debug : .info
        guard sheet.writes(level) else { return }
        sheet.begin(level, "connection closed")
        sheet.add("address", connection.peer)
        sheet.add("by", by.rawValue)
        if let code { sheet.add("code", Int64(code)) }
        if let device { sheet.add("device_id", device.device) }
        sheet.add("ms", (clock.now() - state.connectedAt).wholeMilliseconds)
        if let device { sheet.add("user", device.user.text) }
        sheet.end()
    }

    /// Logs a refused WebSocket handshake, or a failed TLS handshake.
    func refused(_ refusal: HandshakeRefusal) { records.refusals.write(Refusal(refusal), now: clock.now()) }

    /// Counts an HTTP request that the listener refused.
    func refusedByHead(_ status: Int) { records.counters.countAnswer(status) }

    /// Counts an HTTP response about a call; logs a missing or invalid token.
    /// - Parameter user: the user of the token, if known.
    func answered(_ request: HTTPRequest, _ response: HTTPResponse, user: Handle?) {
        records.counters.countAnswer(response.status)
        guard response.status == 401 || response.status == 403 else { return }
        records.refusals.write(
            Refusal(
                kind: .request, peer: request.peer, reason: response.status == 401 ? "unauthenticated" : "forbidden",
                user: user),
            now: clock.now())
    }

    private func id(_ connection: WebSocketConnection) -> ConnectionID {
        ConnectionID(shard: shard, serial: connection.serial)
    }
}

@available(*, unavailable)
extension SessionTrace: Sendable {}
