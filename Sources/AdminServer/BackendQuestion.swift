import AdminProtocol
import CallVocabulary
import LibWebSockets

/// A backend's request for the administration, by HTTP. Answered once, on the admin thread.
package struct BackendQuestion: Sendable {
    package enum Answer: Sendable {
        /// The result's JSON.
        case success([UInt8])
        case failure(AdminError)
    }

    let call: AdminCall
    let peer: PeerAddress
    /// For the audit trail: whose token was shown.
    let credential: String
    /// When the backend has been told to retry, by the server's timeline. The store is not read for it any more.
    let deadline: Instant
    let respond: @Sendable (Answer) -> Void

    /// - Throws: `AdminError` for parameters that the method does not take.
    package init(
        _ method: AdminMethod, params: [UInt8], peer: PeerAddress, credential: String, deadline: Instant,
        respond: @escaping @Sendable (Answer) -> Void
    ) throws(AdminError) {
        let frame = AdminFrameWriter.request(method, params: params)
        switch frame.withUnsafeBytes({ AdminFrameReader.call($0) }) {
        case .success(let call): self.call = call
        case .failure(let failure): throw failure.error
        }
        self.peer = peer
        self.credential = credential
        self.deadline = deadline
        self.respond = respond
    }

    /// Responds with the content of a frame that answers ``call``.
    func answer(_ frame: [UInt8]) {
        if let result = AdminFrameWriter.result(in: frame) { return respond(.success(result)) }
        guard case .error(_, let error)? = frame.withUnsafeBytes({ AdminFrameReader.answer($0) }) else {
            preconditionFailure("a frame that is neither a result nor an error")
        }
        respond(.failure(error))
    }
}
