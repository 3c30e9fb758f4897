import CallVocabulary
import PushCore
import PushVocabulary
import WireJSON

/// An accepted profile gives valid JSON within the provider's limits; an answer of a provider has a verdict.
enum PushChecks {
    private static let now = Instant(milliseconds: 1_790_000_000_000)

    // MARK: Profiles

    static func check(profile bytes: [UInt8]) throws(Violation) {
        let profile: PayloadProfile
        do throws(PayloadTemplateError) {
            profile = try PayloadProfile(name: "fuzzed", json: bytes)
        } catch {
            return try require(!error.problem.isEmpty, "a refusal without a reason")
        }
        for part in PayloadProfile.Part.allCases {
            let size = profile.largest(part, hasName: false)
            try require(size <= part.limit, "\(part.rawValue) can have \(size) bytes")
        }
        for purpose in PushPurpose.allCases {
            let intent = intent(purpose)
            if purpose == .call, let payload = APNSPayload(voip: intent, wakeToken: "w", profile: profile) {
                try check(payload.bytes(now: now), upTo: APNSPayload.longestVoIP)
            }
            for shape in [FCMMessage.Shape.data, .alert, .iosAlert] {
                let message = FCMMessage(
                    shape, to: "t", intent, wakeToken: "w", texts: AlertTexts(), profile: profile)
                guard let message else { continue }
                let bytes = message.bytes(now: now)
                try check(bytes, upTo: FCMMessage.longest)
                try checkStrings(bytes)
            }
        }
    }

    private static func intent(_ purpose: PushPurpose) -> PushIntent {
        guard let alice = Handle("alice"), let bob = Handle("b\"ob") else { preconditionFailure("two handles") }
        let token = PushToken(provider: .apns, kind: .voip, environment: .production, topic: "t", token: "00")
        return PushIntent(
            id: PushID(high: 1, low: 2), purpose: purpose, call: CallID(high: 3, low: 4), user: alice,
            device: DeviceID(high: 5, low: 6), token: token, from: bob, fromName: "Bob\n", to: .group("sales"),
            video: true, custom: RawJSON(bytes: Array(#"{"room":[1.50,null]}"#.utf8)),
            expiresAt: now + .seconds(45), missedCount: 3)
    }

    private static func check(_ json: [UInt8], upTo limit: Int) throws(Violation) {
        try require(json.count <= limit, "\(json.count) bytes")
        let isObject = json.withUnsafeBytes { (try? JSONScanner.document($0))?.kind == .object }
        try require(isObject, "\(String(decoding: json, as: UTF8.self)) is no JSON object")
    }

    /// FCM allows only strings in `data`.
    private static func checkStrings(_ json: [UInt8]) throws(Violation) {
        let areStrings = json.withUnsafeBytes { buffer in
            guard let data = (try? JSONScanner.document(buffer))?.member("message")?.member("data") else { return true }
            guard var scanner = Optional(JSONScanner(data.bytes)) else { return false }
            do throws(JSONSyntaxError) {
                try scanner.enterObject()
                while try scanner.nextKey() != nil {
                    guard try scanner.value().kind == .string else { return false }
                }
                return true
            } catch {
                return false
            }
        }
        try require(areStrings, "not only strings in \(String(decoding: json, as: UTF8.self))")
    }

    // MARK: Answers

    static func check(answer bytes: [UInt8]) throws(Violation) {
        let lines = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 1, omittingEmptySubsequences: false)
        let wait = RetryAfter.duration(String(decoding: lines.first ?? [], as: UTF8.self), now: now)
        try require(wait.map { (.zero...RetryAfter.longest).contains($0) } ?? true, "a wait of \(wait ?? .zero)")
        let body = Array(lines.dropFirst().first ?? [])
        for status in [200, 201, 202, 302, 400, 401, 403, 404, 406, 410, 413, 429, 500, 503] {
            let apple = PushAnswer.apns(status: status, body: body)
            let google = PushAnswer.fcm(status: status, body: body, retryAfter: wait)
            for answer in [apple, google] {
                try require(answer.status == status, "the status is \(answer.status)")
                try require((1...64).contains(answer.reason.utf8.count), "the reason is \(answer.reason)")
                try require((answer.verdict == .accepted) == (status == 200), "\(status) is \(answer.verdict)")
            }
            let browser = PushAnswer.webPush(status: status, body: body, retryAfter: wait)
            try require((1...130).contains(browser.reason.utf8.count), "the reason is \(browser.reason)")
            let isPlain = browser.reason.utf8.allSatisfy { (0x20...0x7E).contains($0) }
            try require(isPlain, "the reason is \(browser.reason)")
            try require((browser.verdict == .accepted) == (200...202 ~= status), "\(status) is \(browser.verdict)")
            _ = apple.isAfter(registeredAt: now)
            switch FCMRegistrationAnswer(status: status, body: body, count: 1) {
            case .outcomes(let outcomes): try require(outcomes.count == 1 && status == 200, "\(outcomes)")
            case .refused(let words): try require((1...1000).contains(words.utf8.count), "refused: \(words)")
            }
            for answer in [apple, google, browser] { try deliver(answer) }
        }
    }

    /// The longest time until the machine has something to do: the ping of an idle connection.
    private static let longestWait = Duration.seconds(3600)

    /// A machine whose push gets this answer has finished it once, or has it still.
    private static func deliver(_ answer: PushAnswer) throws(Violation) {
        var policy = PushPolicy()
        policy.credential = .certificate
        var machine = PushMachine(policy: policy, seed: 7)
        let (push, connection) = (PushID(high: 1, low: 2), PushConnectionID(serial: 0))
        let inputs: [PushInput] = [
            .queued(push, terms), .opened(connection, streamLimit: .max), .cleared(push),
            .submitted(connection, push, stream: 1), .answered(connection, stream: 1, answer),
        ]
        var effects: [PushEffect] = []
        for input in inputs { machine.handle(input, now: now, effects: &effects) }
        let ends = effects.count { if case .outcome(push, let outcome) = $0 { outcome != .returned } else { false } }
        try require(ends == (machine.contains(push) ? 0 : 1), "\(answer) ends the push \(ends) times")
        try checkDeadline(of: machine)
    }

    private static var terms: PushTerms {
        let token = PushToken(provider: .apns, kind: .voip, environment: .production, topic: "t", token: "00")
        return PushTerms(expiresAt: now + .seconds(45), tokenRegisteredAt: now, token: token, user: Handle("alice"))
    }

    private static func checkDeadline(of machine: PushMachine) throws(Violation) {
        guard let next = machine.nextDeadline() else { return }
        try require(next <= now + longestWait, "the next deadline is in \(next - now)")
    }

    // MARK: Access tokens

    static func check(accessToken bytes: [UInt8]) throws(Violation) {
        for status in [200, 400, 401, 503] {
            switch AccessTokenAnswer(status: status, body: bytes) {
            case .refused(let words): try require((1...1000).contains(words.utf8.count), "refused: \(words)")
            case .token(let text, let life):
                try require(status == 200, "a token with the status \(status)")
                try require(!text.isEmpty && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }, "the token \(text)")
                let isBounded = life >= AccessTokenAnswer.shortestLife && life <= AccessTokenAnswer.longestLife
                try require(isBounded, "a life of \(life)")
                try use(tokenUntil: now + life)
            }
        }
    }

    /// A machine that gets such a token announces its push.
    private static func use(tokenUntil end: Instant) throws(Violation) {
        var policy = PushPolicy()
        policy.credential = .fetchedToken
        var machine = PushMachine(policy: policy, seed: 7)
        let push = PushID(high: 1, low: 2)
        let inputs: [PushInput] = [
            .queued(push, terms), .providerTokenSigned(generation: 1, expiresAt: end),
            .opened(PushConnectionID(serial: 0), streamLimit: .max),
        ]
        var effects: [PushEffect] = []
        for input in inputs { machine.handle(input, now: now, effects: &effects) }
        try require(effects.contains(.ready(push)), "a token until \(end) is not used")
        try checkDeadline(of: machine)
    }
}
