import CallVocabulary
import PushVocabulary
import WireJSON

/// The payloads of pushes, as one kind of app expects them. Two are equal only if they are the same object.
public final class PayloadProfile: Sendable {
    /// A kind of payload. The raw values are the members of a profile's document.
    public enum Part: String, Sendable, CaseIterable {
        /// The body of a VoIP push of APNs.
        case voip
        /// The body of an alert of APNs for a ringing call, also to an iPhone through FCM.
        case alert
        /// The same for a missed call.
        case missedCall = "missed_call"
        /// The body of a background push of APNs.
        case background
        /// FCM's `data` for a ringing call.
        case data
        case dataMissedCall = "data_missed_call"
        case dataSync = "data_sync"
        /// The content of a Web Push for a ringing call, before encryption.
        case web
        case webMissedCall = "web_missed_call"

        var values: PayloadTemplate.Values {
            switch self {
            case .voip, .alert, .missedCall, .background, .web, .webMissedCall: .typed
            case .data, .dataMissedCall, .dataSync: .strings
            }
        }

        /// The members that every payload of this kind has: the server adds those that a template lacks.
        var required: [PayloadField] {
            switch self {
            case .voip, .alert, .data, .web: [.pushID, .expiresAt, .expiresIn, .wakeToken]
            case .missedCall, .dataMissedCall, .background, .dataSync, .webMissedCall: []
            }
        }

        /// The provider's limit for the payload, in bytes.
        public var limit: Int {
            switch self {
            case .voip: APNSPayload.longestVoIP
            case .alert, .missedCall, .background, .data, .dataMissedCall, .dataSync: APNSPayload.longest
            // What the encryption leaves of 4,096 bytes.
            case .web, .webMissedCall: WebPushEncryption.longestContent
            }
        }
    }

    /// The longest wake token, in bytes. Its length depends on the handle.
    public static let longestWakeToken = 300

    /// The rule for names, to follow "name: ".
    public static let nameRule = "1 to \(FrameLimits.profile) of a-z, 0-9, _ and -"

    /// Whether a text can be the name of a profile.
    public static func isName(_ text: String) -> Bool {
        (1...FrameLimits.profile).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"),
                    UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }

    public let name: String
    /// By ``Part/index``.
    private let templates: [PayloadTemplate]

    /// Reads a profile's document: an object with a template for each ``Part`` that differs from those of `reveille`.
    ///
    /// - Parameter json: the document, in UTF-8.
    /// - Throws: ``PayloadTemplateError`` for invalid JSON, an unknown part or placeholder, and a template whose payload
    ///   can exceed the provider's limit although name and `custom` are left out.
    public convenience init(name: String, json: [UInt8]) throws(PayloadTemplateError) {
        try self.init(name: name, json: json, standard: .reveille)
    }

    /// - Parameter standard: has the parts that the document lacks; nil for a document that has them all.
    init(name: String, json: [UInt8], standard: PayloadProfile?) throws(PayloadTemplateError) {
        var given: [Part: PayloadTemplate] = [:]
        do {
            given = try json.withUnsafeBytes { try Self.parts(JSONScanner.document($0)) }
        } catch let error as PayloadTemplateError {
            throw error
        } catch let error as JSONSyntaxError {
            throw PayloadTemplateError(error)
        } catch {
            preconditionFailure("the scanner and the templates throw nothing else: \(error)")
        }
        self.name = name
        var templates: [PayloadTemplate] = []
        for part in Part.allCases {
            if let template = given[part] {
                templates.append(template)
            } else if let standard {
                templates.append(standard[part])
            } else {
                throw PayloadTemplateError([part.rawValue], "this part is missing")
            }
        }
        self.templates = templates
        for part in Part.allCases where largest(part, hasName: false) > part.limit {
            throw PayloadTemplateError(
                [part.rawValue],
                "the payload can take \(largest(part, hasName: false)) bytes without name and custom; the provider takes "
                    + "\(part.limit)")
        }
    }

    private static func parts(_ document: JSONValue) throws(PayloadTemplateError) -> [Part: PayloadTemplate] {
        var parts: [Part: PayloadTemplate] = [:]
        for (name, value) in try document.templateMembers(at: []) {
            guard let part = Part(rawValue: name) else {
                let known = Part.allCases.map(\.rawValue).joined(separator: ", ")
                throw PayloadTemplateError([name], "there is no such part; known: \(known)")
            }
            var template = try PayloadTemplate(value, part.values, at: [name])
            do {
                try template.require(part.required, as: part.values)
            } catch {
                throw PayloadTemplateError([name] + error.path, error.problem)
            }
            parts[part] = template
        }
        return parts
    }

    subscript(part: Part) -> PayloadTemplate {
        templates[Part.allCases.firstIndex(of: part) ?? 0]
    }

    /// The size of the largest payload, in bytes, without `custom`: the longest handle, name and wake token, with a
    /// quotation mark, which JSON escapes, in place of each character.
    public func largest(_ part: Part, hasName: Bool) -> Int {
        self[part].bytes(.largest(purpose: part.purpose, hasName: hasName)).count
    }
}

extension PayloadProfile: Equatable {
    public static func == (a: PayloadProfile, b: PayloadProfile) -> Bool { a === b }
}

extension PayloadProfile.Part {
    fileprivate var purpose: PushPurpose {
        switch self {
        case .voip, .alert, .data, .web: .call
        case .missedCall, .dataMissedCall, .webMissedCall: .missedCall
        case .background, .dataSync: .sync
        }
    }
}

extension PayloadValues {
    fileprivate static func largest(purpose: PushPurpose, hasName: Bool) -> Self {
        let quotes = { String(repeating: "\"", count: $0) }
        // Quotation marks are allowed in a handle.
        let handle = Handle(quotes(Handle.longest))!
        var texts = AlertTexts()
        texts.incomingVideoCall = quotes(AlertTexts.longest)
        texts.missedCall = texts.incomingVideoCall
        let token = PushToken(provider: .apns, kind: .voip, environment: .production, topic: "", token: "")
        return PayloadValues(
            intent: PushIntent(
                id: PushID(high: 0, low: 0), purpose: purpose, call: CallID(high: 0, low: 0), user: handle,
                device: DeviceID(high: 0, low: 0), token: token, from: handle,
                fromName: hasName ? quotes(FrameLimits.name) : nil, to: .group(quotes(Handle.longest)), video: true,
                custom: nil,
                expiresAt: Instant(milliseconds: 9_999_999_999_999), missedCount: 99_999),
            wakeToken: String(repeating: "w", count: PayloadProfile.longestWakeToken), texts: texts,
            millisecondsLeft: longestLeft)
    }
}
