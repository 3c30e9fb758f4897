import ArgumentParser
import CallCore
import CallVocabulary
import Foundation
import PushClient
import PushCore
import PushSimulator
import PushVocabulary

/// The payload of a test push with its size, as text and JSON.
struct PayloadText {
    private let profile: PayloadProfile
    private let part: PayloadProfile.Part
    private let body: [UInt8]

    /// - Throws: `PushRequest.Fault` for a payload that is too large.
    init(_ profile: PayloadProfile, kind: PushTestCommand.Kind, seconds: Int) throws {
        self.profile = profile
        part =
            switch kind {
            case .voip: .voip
            case .alert: .alert
            case .background: .background
            case .data: .data
            case .web: .web
            }
        // The handle is a literal that is one.
        let key = DeviceKey(user: Handle("bob")!, device: .random())
        let token = Self.token(for: kind)
        let intent = PushTestCommand.order(to: token, of: key, kind: kind, seconds: seconds)
        body = try PushRequest(intent, wakeToken: "test", profile: profile).content(now: Moment.now)
    }

    /// A token that no device has.
    private static func token(for kind: PushTestCommand.Kind) -> PushToken {
        if kind == .web {
            let key = WebPushKey.random().applicationServerKey
            return PushToken(
                provider: .webpush, kind: .data, environment: .production, topic: key,
                token: "https://push.example.org/#p256dh=\(key)&auth=AAAAAAAAAAAAAAAAAAAAAA")
        }
        return PushToken(
            provider: kind == .data ? .fcm : .apns, kind: kind.token, environment: .production,
            topic: kind == .data ? "example" : kind == .voip ? "org.example.phone.voip" : "org.example.phone",
            token: "0123456789abcdef")
    }

    func print(_ format: OutputFormat) throws {
        let json = try JSONSerialization.jsonObject(with: Data(body))
        try format.write(
            [
                "profile": profile.name, "part": part.rawValue, "payload": json, "bytes": body.count,
                "largest_bytes": profile.largest(part, hasName: true), "limit_bytes": part.limit,
            ],
            text: [
                String(decoding: body, as: UTF8.self), "",
                "\(body.count) bytes; at most \(profile.largest(part, hasName: true)) with the longest handle and name, "
                    + "before custom. The provider takes \(part.limit).",
            ])
    }

    /// Prints how each known app reads the payload in a file, as a VoIP push on iOS and as data on Android.
    /// - Throws: `ValidationError` for a file that cannot be read or is no JSON object.
    static func explain(file: String, _ format: OutputFormat) throws {
        let handle = FileHandle(forReadingAtPath: file == "-" ? "/dev/stdin" : file)
        guard let payload = handle?.readDataToEndOfFile() else {
            throw ValidationError("--explain: cannot read \(file.shown).")
        }
        guard (try? JSONSerialization.jsonObject(with: payload)) is [String: Any] else {
            throw ValidationError("--explain: \(file.shown) is not a JSON object.")
        }
        var table = Table(["APP", "SYSTEM", "RESULT"])
        var items: [[String: Any]] = []
        for app in PhoneApp.allCases {
            for system in ["ios", "android"] {
                let reading = app.read(Array(payload), isAndroid: system == "android")
                table.add([Table.Cell(app.rawValue), Table.Cell(system), Table.Cell(reading.words)])
                items.append([
                    "app": app.rawValue, "system": system, "shows_call": reading.isShown, "result": reading.words,
                ])
            }
        }
        try format.write(["readings": items], text: table.lines)
    }
}

extension PhoneApp.Reading {
    fileprivate var isShown: Bool { if case .shown = self { true } else { false } }
}
