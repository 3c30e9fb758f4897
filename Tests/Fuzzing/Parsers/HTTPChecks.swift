import LibWebSockets
import OutgoingHTTP

/// Each parser gives the same result for an input in one part and in many, and enforces its limits.
enum HTTPChecks {
    // MARK: Responses

    static func check(response bytes: [UInt8]) throws(Violation) { _ = try answer(bytes, longestBody: 300) }

    /// - Returns: nil for a response that is refused.
    static func answer(_ bytes: [UInt8], longestBody: Int) throws(Violation) -> WebAnswer? {
        let outcomes = [bytes.count, 1, 7].map { outcome(bytes, longestBody, step: max(1, $0)) }
        for outcome in outcomes.dropFirst() {
            try require(outcome == outcomes[0], "in parts it is \(outcome), at once \(outcomes[0])")
        }
        let idleTime = outcomes[0].idleTime ?? AnswerReader.longestIdle
        try require(idleTime > .zero && idleTime <= AnswerReader.longestIdle, "the connection waits for \(idleTime)")
        guard case .success(let answer) = outcomes[0].answer else { return nil }
        // An answer of one line is complete with the connection's end.
        try require(answer.body.count <= longestBody, "the body has \(answer.body.count) bytes")
        try require((200...599).contains(answer.status), "the status is \(answer.status)")
        for field in answer.fields {
            try require(!field.name.isEmpty && field.name == field.name.lowercased(), "the field \(field)")
        }
        return answer
    }

    private struct Outcome: Equatable {
        let answer: Result<WebAnswer, WebFailure>
        /// How long the connection waits for another request; nil when it is closed.
        let idleTime: Duration?
    }

    private static func outcome(_ bytes: [UInt8], _ longestBody: Int, step: Int) -> Outcome {
        var reader = AnswerReader(longestBody: longestBody)
        let answer: Result<WebAnswer, WebFailure> = Result { () throws(WebFailure) in
            var rest = bytes[...]
            var whole: WebAnswer?
            while !rest.isEmpty {
                let part = rest.prefix(step)
                rest = rest.dropFirst(part.count)
                whole = try reader.receive(part)
            }
            if let whole { return whole }
            return try reader.end()
        }
        return Outcome(answer: answer, idleTime: reader.idleTime)
    }

    // MARK: Requests

    static func check(request bytes: [UInt8]) throws(Violation) {
        let whole = head(bytes, step: max(1, bytes.count))
        let parts = head(bytes, step: 1)
        try require(whole.length == parts.length, "the head has \(whole) at once and \(parts) in parts")
        guard let length = whole.length else { return }
        try require(length <= RequestHead.longest, "the head has \(length) bytes")
        let head: RequestHead
        do throws(RequestHead.Fault) {
            head = try RequestHead(bytes[..<length])
        } catch {
            return try require((400...505).contains(error.status) && !error.words.isEmpty, "the fault \(error)")
        }
        try require(head.path.hasPrefix("/") || head.path == "*", "the path \(head.path)")
        try require(!head.method.isEmpty, "no method")
        for header in RequestHead.Header.allCases {
            let isClean = head.value(of: header)?.utf8.allSatisfy { $0 != 0 && $0 != 0x0A && $0 != 0x0D } ?? true
            try require(isClean, "a line break in \(header)")
            _ = head.elements(of: header)
        }
        if let list = head.value(of: .forwardedFor) { try check(forwardedFor: list) }
    }

    /// The length of the head; nil for none.
    private static func head(_ bytes: [UInt8], step: Int) -> (length: Int?, end: String) {
        var buffer = RequestHeadBuffer()
        var taken = 0
        while taken < bytes.count {
            let part = bytes[taken..<min(bytes.count, taken + step)]
            taken += part.count
            switch part.withUnsafeBytes({ buffer.append($0) }) {
            case .incomplete: break
            case .tooLong: return (nil, "too long")
            case .foreign: return (nil, "foreign")
            case .whole(let head, _): return (head.count, "whole")
            }
        }
        return (nil, "incomplete")
    }

    // MARK: Proxies

    static func check(proxyHeader bytes: [UInt8]) throws(Violation) {
        let outcomes = [bytes.count, 1, 5].map { header(bytes, step: max(1, $0)) }
        for outcome in outcomes.dropFirst() {
            try require(outcome == outcomes[0], "in parts it is \(outcome), at once \(outcomes[0])")
        }
        if case .success(let whole?) = outcomes[0] {
            try require(whole.taken <= ProxyHeader.longest, "the header has \(whole.taken) bytes")
            try check(address: whole.client)
        }
        try check(forwardedFor: String(decoding: bytes, as: UTF8.self))
    }

    private struct Whole: Equatable {
        let taken: Int
        let client: PeerAddress?
    }

    private static func header(_ bytes: [UInt8], step: Int) -> Result<Whole?, ProxyHeader.Fault> {
        Result { () throws(ProxyHeader.Fault) in
            var (header, taken) = (ProxyHeader(), 0)
            while taken < bytes.count {
                let part = try header.read(bytes[taken..<min(bytes.count, taken + step)])
                taken += part.taken
                if part.isWhole { return Whole(taken: taken, client: header.client) }
            }
            return nil
        }
    }

    private static func check(forwardedFor list: String) throws(Violation) {
        guard let range = AddressRange("10.0.0.0/8"), let peer = PeerAddress(numeric: "10.0.0.1") else { return }
        let proxies = TrustedProxies(addresses: [range])
        try check(address: proxies.forwarded(behind: peer, list).client)
        for entry in list.split(separator: ",") { _ = AddressRange(String(entry)) }
    }

    /// The text of an address without its port is parsed to the same address.
    private static func check(address: PeerAddress?) throws(Violation) {
        guard let address, !address.isUnknown else { return }
        let network = address.network
        try require(network == network.network, "\(address) has two networks")
        try require(PeerAddress(numeric: network.description) == network, "\(network) is not read as it is written")
    }

    // MARK: Frames

    private static let longestMessage = 200

    static func check(frames bytes: [UInt8]) throws(Violation) {
        let whole = try frames(bytes, step: max(1, bytes.count))
        let parts = try frames(bytes, step: 1)
        try require(whole == parts, "in parts it is \(parts), at once \(whole)")
    }

    /// The frames as text.
    private static func frames(_ bytes: [UInt8], step: Int) throws(Violation) -> [String] {
        var reader = FrameReader()
        var found: [String] = []
        var pending: [UInt8] = []
        var violation: String?
        var arrived = 0
        while arrived < bytes.count {
            let part = bytes[arrived..<min(bytes.count, arrived + step)]
            arrived += part.count
            pending += part
            let taken = pending.withUnsafeMutableBytes { buffer in
                reader.read(buffer, limit: longestMessage) { frame in
                    switch frame {
                    case .text(let text):
                        if text.count > longestMessage { violation = "a message of \(text.count) bytes" }
                        if String(validating: text, as: UTF8.self) == nil { violation = "a text that is not UTF-8" }
                        found.append("text \(Array(text))")
                    case .fragment: found.append("fragment")
                    case .ping(let bytes):
                        if bytes.count > 125 { violation = "a ping of \(bytes.count) bytes" }
                        found.append("ping \(Array(bytes))")
                    case .pong: found.append("pong")
                    case .close(let code): found.append("close \(code ?? 0)")
                    case .fault(let fault): found.append("fault \(fault)")
                    }
                    return true
                }
            }
            guard let taken else { break }
            pending.removeFirst(taken)
            try require(reader.needed > pending.count, "\(pending.count) bytes wait, \(reader.needed) are needed")
        }
        if let violation { throw Violation(violation) }
        return found
    }
}
