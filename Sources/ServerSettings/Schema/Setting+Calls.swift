import CallCore
import CallVocabulary
import Configuration
import PushClient
import PushCore

/// Calls, sessions and pushes.
extension Setting {
    package static let ringSeconds = Setting(
        "calls.ring_seconds", .integer(5...600), seconds(\.ring), flag: "--ring-seconds", part: .timers,
        "How long a call rings when the caller does not say.")
    package static let ringTimeSeconds = Setting(
        "limits.ring_time_seconds", .integer(5...600), seconds(\.longestRing), part: .timers,
        "The longest ring time that a caller may ask for.")
    package static let huntStepSeconds = Setting(
        "calls.hunt_step_seconds", .integer(3...180), seconds(\.huntStep), part: .timers,
        "From one member's turn to the next in a group that is hunted through.")
    package static let connectSeconds = Setting(
        "calls.connect_seconds", .integer(5...120), seconds(\.connect), part: .timers,
        "From the answer until both sides say that media flows; then the call ends as connect_timeout.")
    package static let deliverySeconds = Setting(
        "calls.delivery_seconds", .integer(1...30), seconds(\.delivery), part: .timers,
        "How long a device on a live socket may take for a sign of life before it is pushed as well.")
    package static let reportSeconds = Setting(
        "calls.report_seconds", .integer(3...120), seconds(\.report), part: .timers,
        "From the provider's answer until the device has reported the push; then the push is unreported.")
    package static let callWaiting = Setting(
        "calls.waiting", .flag, .bool(true), part: .policy,
        "Offer a second call beside the first; otherwise it ends as busy. For users without a policy of their own.")
    package static let decline = Setting(
        "calls.decline", .choice(DeclinePolicy.allCases.map(\.rawValue)), .string("all"), part: .policy,
        "Whether a decline is the user's, on all devices, or one device's. For users without a policy of their own.")
    package static let resumeSeconds = Setting(
        "sessions.resume_seconds", .integer(5...600), seconds(\.resume), part: .timers,
        "How long a session whose socket is gone can be resumed, and a party of a call may be away.")
    package static let openSeconds = Setting(
        "sessions.open_seconds", .integer(1...120), .int(10), part: .connectionLimits,
        "How long a client may take to open a session after it has connected.")

    package static let missedCalls = Setting(
        "push.missed_calls", .choice(MissedCallPush.allCases.map(\.rawValue)), .string("off"), flag: "--missed-calls",
        part: .policy,
        "Which push tells offline devices of a missed call. For users without a policy of their own.")
    package static let noticeSeconds = Setting(
        "push.notice_seconds", .integer(60...604_800), seconds(\.notice), part: .timers,
        "For how long after a missed call the devices are still pushed about it.")
    package static let apnsKey = Setting(
        "push.apns.key", .path, example: "/etc/reveille/AuthKey_ABC123DEFG.p8", flag: "--apns-key", part: .push,
        "The APNs key, as the developer account gives it out. Goes with push.apns.key_id and push.apns.team_id.")
    package static let apnsKeyID = Setting(
        "push.apns.key_id", .text(longest: 64), example: "ABC123DEFG", flag: "--apns-key-id", part: .push,
        "The key's id, 10 characters.")
    package static let apnsTeamID = Setting(
        "push.apns.team_id", .text(longest: 64), example: "DEF123GHIJ", flag: "--apns-team-id", part: .push,
        "The team's id, 10 characters.")
    package static let apnsCertificate = Setting(
        "push.apns.certificate", .paths, example: "[/etc/reveille/voip.pem]", flag: "--apns-certificate", part: .push,
        "VoIP Services certificates, in PEM, one for each app. They go before the key for their own topics.")
    package static let apnsCertificateKey = Setting(
        "push.apns.certificate_key", .paths, note: "in the same files", example: "[/etc/reveille/voip-key.pem]",
        flag: "--apns-certificate-key", part: .push, "The private key of each certificate, in their order.")
    package static let apnsPort = Setting(
        "push.apns.port", .integer(1...65535), .int(443), flag: "--apns-port", part: .push,
        "The port of APNs: 443, or 2197 where a firewall wants another one.")
    package static let fcmServiceAccount = Setting(
        "push.fcm.service_account", .path, example: "/etc/reveille/firebase.json", flag: "--fcm-service-account",
        part: .push, "The key of a service account of the Firebase project (JSON), as its console gives it out.")
    package static let fcmIOSAlerts = Setting(
        "push.fcm.ios_alerts", .flag, .bool(false), flag: "--fcm-ios-alerts", part: .push,
        "Tell iPhones of missed calls through FCM, by tokens mapped from their APNs tokens.")
    package static let webPushSubject = Setting(
        "push.webpush.subject", .text(longest: 255), example: "mailto:admin@example.org", flag: "--webpush-subject",
        part: .push,
        "Switches Web Push on: a contact for browsers' push services, mailto: or https:. Apple refuses addresses at localhost."
    )
    package static let webPushKey = Setting(
        "push.webpush.key", .path, note: "webpush.key in the data folder", example: "/etc/reveille/webpush.pem",
        flag: "--webpush-key", part: .push,
        "The VAPID key of Web Push: P-256, in PEM. With another key, pages must subscribe again to get pushes.")
    package static let webPushHosts = Setting(
        "push.webpush.hosts", .text(longest: 2048), note: "those of Chrome, Edge, Firefox and Safari",
        example: WebPushEndpoint.standardHosts.joined(separator: ", "), part: .push,
        "The push services of browsers: hosts, *.host for all its subdomains, with :port unless it is 443. List nothing else."
    )
    package static let incomingCallText = Setting(
        "push.text.incoming_call", .text(longest: AlertTexts.longest), .string("Incoming call"), part: .push,
        "The words of a call's push that the system shows by itself.")
    package static let incomingVideoCallText = Setting(
        "push.text.incoming_video_call", .text(longest: AlertTexts.longest), .string("Incoming video call"),
        part: .push,
        "The same for a video call.")
    package static let missedCallText = Setting(
        "push.text.missed_call", .text(longest: AlertTexts.longest), .string("Missed call"), part: .push,
        "The same for a missed call.")
    package static let pushTemplates = Setting(
        "push.templates", .paths, example: "[/etc/reveille/softphone.json]", flag: "--push-template", part: .push,
        "Payload profiles of your own, one JSON file each. A profile's name is the file's name without .json.")
    package static let pushProfiles = Setting(
        "push.profiles", .text(longest: 4096), example: "com.example.app=callkit_incoming, my-project=linphone",
        flag: "--push-profiles", part: .push,
        "The payload profile of each app, as bundle id or Firebase project = profile. Default: reveille.")
    package static let pushSimulator = Setting(
        "push.simulator", .flag, .bool(false), flag: "--push-sim", part: .push,
        "Push to the simulator on this machine (reveille push-sim) in place of Apple and Google.")
    package static let pushSimulatorData = Setting(
        "push.simulator_data", .path, note: "push-sim in the data folder", example: "/var/lib/reveille/push-sim",
        flag: "--push-sim-data", part: .push, "The simulator's data folder. Says push.simulator as well.")

    private static func seconds(_ timer: KeyPath<CallTimers, Duration>) -> ConfigContent {
        .int(Int(CallTimers()[keyPath: timer].components.seconds))
    }
}
