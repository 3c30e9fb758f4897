import AdminProtocol
import LibWebSockets
import Logging

/// A change requested by an administrator; logged as one line at notice once its result is known.
///
///     admin group.set params={members: [alice, bob], name: sales, strategy: hunt} pid=4711 result=done uid=1000
struct AuditEntry: Sendable {
    /// The most list entries that are logged.
    static let mostTexts = 10
    /// The longest parameter text that is logged, in characters. Names have at most 128 bytes.
    static let longestText = 200

    private let method: AdminMethod
    private let parameters: Logger.Metadata
    private let peer: PeerAddress
    private let credential: String

    /// nil for a request that changes nothing.
    /// - Parameter credential: what a peer on TCP has shown.
    init?(_ request: any AdminRequest, from peer: PeerAddress, credential: String) {
        guard let change = request as? any AdminChange, change.isChange else { return nil }
        method = type(of: change).method
        parameters = Dictionary(uniqueKeysWithValues: change.audited.map { ($0.name, Self.shown($0.value)) })
        self.peer = peer
        self.credential = credential
    }

    /// - Parameter refusal: why the change was refused; nil when it was made.
    func write(to log: Logger, _ refusal: AdminError?) {
        write(to: log, result: refusal?.name ?? "done", detail: refusal?.message)
    }

    /// Logs that the server stopped before the core answered.
    func writeUnanswered(to log: Logger) {
        write(to: log, result: "unanswered", detail: "The server stopped before the result of this was known.")
    }

    private func write(to log: Logger, result: String, detail: String?) {
        var metadata: Logger.Metadata = [
            "method": .string(method.rawValue), "params": .dictionary(parameters), "result": .string(result),
        ]
        if let detail { metadata["detail"] = .string(detail) }
        if let process = peer.process {
            metadata["uid"] = .stringConvertible(process.user)
            metadata["pid"] = .stringConvertible(process.id)
        } else {
            metadata["address"] = .string(peer.description)
            metadata["credential"] = .string(credential)
        }
        log.notice("admin \(method.rawValue)", metadata: metadata)
    }

    private static func shown(_ value: AuditedValue) -> Logger.MetadataValue {
        switch value {
        case .text(let text): return .string(cut(text))
        case .number(let number): return .stringConvertible(number)
        case .flag(let flag): return .stringConvertible(flag)
        case .texts(let texts):
            let more = texts.count - mostTexts
            let shown = texts.prefix(mostTexts).map { Logger.MetadataValue.string(cut($0)) }
            return .array(more > 0 ? shown + [.string("and \(more) more")] : shown)
        }
    }

    private static func cut(_ text: String) -> String {
        text.count > longestText ? text.prefix(longestText) + "…" : text
    }
}
