import AdminProtocol
import LibWebSockets
import Logging

/// A change that an administrator has asked for, until its result is known: then it is one line at notice.
///
///     admin group.set params={members: [alice, bob], name: sales, strategy: hunt} pid=4711 result=done uid=1000
struct AuditEntry: Sendable {
    /// Entries of a list that are shown.
    static let mostTexts = 10
    /// The longest text of a parameter that is shown, in characters. Names have at most 128 bytes.
    static let longestText = 200

    private let method: AdminMethod
    private let parameters: Logger.Metadata
    private let peer: PeerAddress

    /// nil for a request that changes nothing.
    init?(_ request: any AdminRequest, from peer: PeerAddress) {
        guard let change = request as? any AdminChange, change.isChange else { return nil }
        method = type(of: change).method
        parameters = Dictionary(uniqueKeysWithValues: change.audited.map { ($0.name, Self.shown($0.value)) })
        self.peer = peer
    }

    /// - Parameter refusal: why nothing was changed; nil when it was.
    func write(to log: Logger, _ refusal: AdminError?) {
        write(to: log, result: refusal?.name ?? "done", detail: refusal?.message)
    }

    /// The server stops, and the core has not answered.
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
            // The only one there is for that listener.
            metadata["credential"] = .string("admin.token_file")
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
