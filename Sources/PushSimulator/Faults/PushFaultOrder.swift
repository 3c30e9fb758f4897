import CallVocabulary
import HTTP2
import PushVocabulary

/// A fault as JSON: the body of `POST /simulator/v1/faults`, and an element of the `GET` response.
public struct PushFaultOrder: Codable, Equatable, Sendable {
    public enum Name: String, Codable, Sendable, CaseIterable {
        case refuse, lose, late
        case noAnswer = "no_answer"
        case goAway = "goaway"
        case reset
        case streamLimit = "stream_limit"
        case refuseAndClose = "refuse_and_close"
        case blackHole = "black_hole"
        case splitBody = "split_body"
        case emptyBody = "empty_body"
        case html
    }

    /// Why an order is invalid.
    public struct Nonsense: Error, Equatable, CustomStringConvertible, Sendable {
        public let description: String
    }

    public var fault: String
    /// ``PushFault/Service``; nil means `apns`.
    public var provider: String?
    public var token: String?
    public var count: Int?
    public var rate: Double?
    /// A reason of APNs or FCM, or a ``WebPushRefusal``.
    public var reason: String?
    public var status: Int?
    /// For 410: milliseconds since the epoch.
    public var timestamp: Int64?
    public var retryAfterSeconds: Int?
    public var delayMilliseconds: Int64?
    public var jitterMilliseconds: Int64?
    /// The error code of RST_STREAM.
    public var code: UInt32?
    public var limit: Int?
    /// For GOAWAY: `json`, `plain` or `none`.
    public var text: String?
    public var doubled: Bool?
    /// For GOAWAY: `current`, `zero` or `before`.
    public var lastStream: String?

    private enum CodingKeys: String, CodingKey {
        case fault, provider, token, count, rate, reason, status, timestamp
        case retryAfterSeconds = "retry_after_s"
        case delayMilliseconds = "delay_ms"
        case jitterMilliseconds = "jitter_ms"
        case code, limit, text, doubled
        case lastStream = "last_stream"
    }

    public init(_ name: Name, provider: PushFault.Service = .apns) {
        fault = name.rawValue
        self.provider = provider.rawValue
    }

    private static let longestDelay: Int64 = 3_600_000
    private static let defaultPause: Int64 = 200

    /// Converts the order to a fault.
    /// - Throws: ``Nonsense``.
    public func makeFault() throws(Nonsense) -> PushFault {
        let service = try named(provider, PushFault.Service.self, "provider") ?? .apns
        if let count, count < 1 { throw Nonsense(description: "count is not positive") }
        if let rate, !(0...1).contains(rate) { throw Nonsense(description: "rate is not 0–1") }
        if let status, !(200...599).contains(status) { throw Nonsense(description: "status is not 200–599") }
        if let delayMilliseconds, !(0...Self.longestDelay).contains(delayMilliseconds) {
            throw Nonsense(description: "delay_ms is at most an hour")
        }
        if let jitterMilliseconds, !(0...Self.longestDelay).contains(jitterMilliseconds) {
            throw Nonsense(description: "jitter_ms is at most an hour")
        }
        return PushFault(
            try effect(service), service: service, deviceToken: token, count: count, rate: rate ?? 1,
            jitter: .milliseconds(jitterMilliseconds ?? 0))
    }

    private func effect(_ service: PushFault.Service) throws(Nonsense) -> PushFault.Effect {
        guard let name = Name(rawValue: fault) else { throw Nonsense(description: "no such fault: \(fault)") }
        switch name {
        case .refuse: return try refusal(service)
        case .lose: return .lose
        case .late:
            guard let delayMilliseconds else { throw Nonsense(description: "late needs delay_ms, at most an hour") }
            return .deliverLate(.milliseconds(delayMilliseconds))
        case .noAnswer: return .neverAnswer
        case .goAway: return .retire(try goAway())
        case .reset: return .reset(HTTP2ErrorCode(wireValue: code ?? HTTP2ErrorCode.refusedStream.wireValue))
        case .streamLimit:
            guard let limit, (0...10_000).contains(limit) else {
                throw Nonsense(description: "stream_limit needs limit, at most 10,000")
            }
            return .limitStreams(limit)
        case .refuseAndClose: return .refuseAndClose
        case .blackHole: return .blackHole
        case .splitBody:
            return .splitBody(
                try named(reason, APNSReason.self, "reason") ?? .internalServerError,
                pause: .milliseconds(delayMilliseconds ?? Self.defaultPause))
        case .emptyBody: return .emptyBody(status: status ?? 500)
        case .html: return .html(status: status ?? 502)
        }
    }

    private func refusal(_ service: PushFault.Service) throws(Nonsense) -> PushFault.Effect {
        switch service {
        case .apns:
            guard let reason = try named(reason, APNSReason.self, "reason") else {
                throw Nonsense(description: "refuse needs a reason")
            }
            return .refuse(reason, status: status, timestamp: timestamp.map { Instant(milliseconds: $0) })
        case .fcm, .oauth:
            guard let reason = try named(reason, FCMRefusal.self, "reason") else {
                throw Nonsense(description: "refuse needs a reason")
            }
            return .refuseMessage(reason, status: status, retryAfter: retryAfterSeconds)
        case .webpush:
            guard let reason = try named(reason, WebPushRefusal.self, "reason") else {
                throw Nonsense(description: "refuse needs a reason")
            }
            return .refuseWebPush(reason, status: status, retryAfter: retryAfterSeconds)
        }
    }

    /// The GOAWAY described by `text`, `reason`, `doubled` and `last_stream`.
    func goAway() throws(Nonsense) -> PushFault.GoAway {
        let reason = try named(reason, APNSReason.self, "reason")
        let last = try named(lastStream, PushFault.GoAway.LastStream.self, "last_stream") ?? .current
        let words: PushFault.GoAway.Text
        switch text {
        case nil: words = reason.map { .json($0) } ?? .none
        case "json": words = .json(reason ?? .shutdown)
        case "plain": words = .plain(reason ?? .shutdown)
        case "none": words = .none
        case .some(let other): throw Nonsense(description: "no such text: \(other); there are json, plain, none")
        }
        return PushFault.GoAway(text: words, isDoubled: doubled ?? false, lastStream: last)
    }

    private func named<Value: RawRepresentable<String> & CaseIterable>(
        _ text: String?, _: Value.Type, _ what: String
    ) throws(Nonsense) -> Value? {
        guard let text else { return nil }
        guard let value = Value(rawValue: text) else {
            let known = Value.allCases.map(\.rawValue).joined(separator: ", ")
            throw Nonsense(description: "no such \(what): \(text); there are \(known)")
        }
        return value
    }

    /// The order that describes `fault`.
    public init(_ fault: PushFault) {
        self.init(.refuse, provider: fault.service)
        token = fault.deviceToken
        count = fault.count
        if fault.rate < 1 { rate = fault.rate }
        if fault.jitter > .zero { jitterMilliseconds = fault.jitter.wholeMilliseconds }
        describe(fault.effect)
    }

    private mutating func describe(_ effect: PushFault.Effect) {
        let name: Name
        switch effect {
        case .refuse(let reason, let status, let timestamp):
            name = .refuse
            (self.reason, self.status, self.timestamp) = (reason.rawValue, status, timestamp?.milliseconds)
        case .refuseMessage(let reason, let status, let retryAfter):
            name = .refuse
            (self.reason, self.status, retryAfterSeconds) = (reason.rawValue, status, retryAfter)
        case .refuseWebPush(let reason, let status, let retryAfter):
            name = .refuse
            (self.reason, self.status, retryAfterSeconds) = (reason.rawValue, status, retryAfter)
        case .lose: name = .lose
        case .deliverLate(let delay):
            name = .late
            delayMilliseconds = delay.wholeMilliseconds
        case .neverAnswer: name = .noAnswer
        case .retire(let goAway):
            name = .goAway
            describe(goAway)
        case .reset(let code):
            name = .reset
            self.code = code.wireValue
        case .limitStreams(let limit):
            name = .streamLimit
            self.limit = limit
        case .refuseAndClose: name = .refuseAndClose
        case .blackHole: name = .blackHole
        case .splitBody(let reason, let pause):
            name = .splitBody
            (self.reason, delayMilliseconds) = (reason.rawValue, pause.wholeMilliseconds)
        case .emptyBody(let status):
            name = .emptyBody
            self.status = status
        case .html(let status):
            name = .html
            self.status = status
        }
        fault = name.rawValue
    }

    private mutating func describe(_ goAway: PushFault.GoAway) {
        switch goAway.text {
        case .json(let reason): (text, self.reason) = ("json", reason.rawValue)
        case .plain(let reason): (text, self.reason) = ("plain", reason.rawValue)
        case .none: text = "none"
        }
        if goAway.isDoubled { doubled = true }
        lastStream = goAway.lastStream.rawValue
    }
}
