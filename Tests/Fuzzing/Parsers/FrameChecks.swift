import CallVocabulary
import SignalProtocol
import WireJSON

/// A frame is refused with a reason, or equals itself after encoding and decoding.
enum FrameChecks {
    private static let now = Instant(milliseconds: 1_790_000_000_000)
    private static let call = CallID(high: 0x6BA7_B810_9DAD_41D1, low: 0x80B4_00C0_4FD4_30C8)

    static func check(client bytes: [UInt8]) throws(Violation) {
        let decoded = SignalDecoder.decode(frame: bytes)
        let pooled = SignalDecoder.decode(frame: bytes, in: PayloadMemory(shelfBytes: 1024))
        try require(decoded == pooled, "\(decoded) is read as \(pooled) with a pool")
        switch decoded {
        case .success(let message):
            var frame: [UInt8] = []
            SignalEncoder.encode(message, into: &frame)
            let again = SignalDecoder.decode(frame: frame)
            try require(again == .success(message), "\(message) is read again as \(again)")
        case .failure(let failure):
            let code = failure.error.code.number
            try require((-32700 ... -32600).contains(code) || code == -32008, "the code of \(failure)")
            try check(failure.error)
            try check(message: failure.answer)
        }
    }

    static func check(server bytes: [UInt8]) throws(Violation) {
        let decoded = SignalDecoder.decode(serverFrame: bytes)
        switch decoded {
        case .success(.message(let message)): try check(message: message)
        case .success(.ignored): break
        case .failure(let failure): try check(failure.error)
        }
        // The time of reception affects deadlines only.
        let received = SignalDecoder.decode(serverFrame: bytes, receivedAt: now)
        switch (decoded, received) {
        case (.success, .success), (.failure, .failure): break
        case (.success, .failure(let failure)), (.failure(let failure), .success):
            // `remaining_ms` is read only with a time of reception.
            try require(failure.error.message.contains("remaining_ms"), "\(failure) is of one reading")
        }
    }

    private static func check(message: ServerMessage) throws(Violation) {
        var frame: [UInt8] = []
        SignalEncoder.encode(message, now: now, into: &frame)
        let again = SignalDecoder.decode(serverFrame: frame)
        try require(again == .success(.message(message)), "\(message) is read again as \(again)")
    }

    private static func check(_ error: SignalError) throws(Violation) {
        try require(!error.message.isEmpty, "\(error) has no message")
        try require(error.message.utf8.count <= 1024, "the message of \(error.code) has no bound: \(error.message)")
    }

    static func check(body bytes: [UInt8]) throws(Violation) {
        try refusal { () throws(SignalError) in
            _ = try SignalDecoder.decode(reportBody: bytes, of: PushID(high: 1, low: 2))
        }
        for action in CallAction.allCases {
            try refusal { () throws(SignalError) in _ = try SignalDecoder.decode(body: bytes, of: action, in: call) }
        }
        try refusal { () throws(SignalError) in _ = try SignalDecoder.decode(backendInvite: bytes, or: call) }
        try check(authorization: bytes)
    }

    static func check(authorization bytes: [UInt8]) throws(Violation) {
        try refusal { () throws(SignalError) in
            let answer = try AuthorizationBody.decode(bytes)
            let seconds = Duration.seconds(AuthorizationBody.longestLifetime)
            guard (.zero...seconds).contains(answer.lifetime) else {
                throw SignalError(.internalError, "")
            }
        }
    }

    private static func refusal(_ decode: () throws(SignalError) -> Void) throws(Violation) {
        do throws(SignalError) {
            try decode()
        } catch {
            try check(error)
        }
    }
}
