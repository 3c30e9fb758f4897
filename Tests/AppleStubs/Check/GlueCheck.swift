import CallKit
import CallVocabulary
import Foundation
import PushKit
import ReveilleCallKit
import ReveilleClient
import SoftphoneSession
import UIKit

// An app that uses CallCenter, with the stand-ins of the folder above in place of iOS. In the first form pushes arrive,
// and the user answers or declines. In the second form a session announces the call, and the user calls back.
//
//     glue-check URL DEVICE_ID answers|declines|filters PAYLOAD
//     glue-check URL DEVICE_ID online TOKEN

struct Locked: Error {}

struct Unexpected: Error {
    let what: String
}

/// An app's media: descriptions without content.
@MainActor
final class Media: CallCenterDelegate {
    var events: [SoftphoneEvent] = []

    func answer(_ call: CallID, offer: RawJSON?) async throws -> RawJSON? { .text("answer") }

    func offer(for call: CallID) async throws -> RawJSON? { .text("offer") }

    func happened(_ event: SoftphoneEvent) { events.append(event) }

    func setMuted(_ isMuted: Bool, in call: CallID) {}

    func audioStarted() {}

    func audioStopped() {}
}

/// Wakes the check when a stand-in changes.
@MainActor
final class Changes {
    private var waiter: CheckedContinuation<Void, Never>?

    init() {
        // Proof: the app uses CallKit on the main queue.
        CXProvider.changed = { MainActor.assumeIsolated { self.changed() } }
        UIApplication.shared.changed = changed
    }

    func changed() {
        waiter?.resume()
        waiter = nil
    }

    func next() async { await withCheckedContinuation { waiter = $0 } }
}

@MainActor
struct GlueCheck {
    let media = Media()
    private let changes = Changes()
    let center: CallCenter
    let registry: PKPushRegistry
    let provider: CXProvider

    /// - Parameter token: nil before the first unlock, when the keychain is closed.
    init(_ url: String, _ device: DeviceID, token: String?) throws {
        var phone = Softphone.Configuration(
            url: url, token: token.map { .fixed($0) } ?? .provider { throw Locked() },
            device: DeviceDescription(id: device, platform: .ios))
        phone.transport = PosixTransport()
        center = try CallCenter(
            configuration: CallCenter.Configuration(
                phone: phone, bundle: "org.reveille.phone", environment: .production),
            delegate: media)
        guard let registry = PKPushRegistry.last, let provider = CXProvider.last,
            registry.desiredPushTypes == [.voIP], registry.delegate === center, provider.delegate === center
        else { throw Unexpected(what: "no registry or provider at launch") }
        (self.registry, self.provider) = (registry, provider)
    }

    private func expect(_ condition: Bool, _ what: String) throws {
        guard condition else { throw Unexpected(what: "\(what); reports: \(provider.reports); \(media.events)") }
    }

    private func eventually(_ what: String, _ condition: () -> Bool) async throws {
        let end = ContinuousClock.now + .seconds(15)
        let bound = Task {
            try await Task.sleep(until: end)
            changes.changed()
        }
        defer { bound.cancel() }
        while !condition() {
            try expect(ContinuousClock.now < end, "waited in vain: \(what)")
            await changes.next()
        }
    }

    /// Delivers a push by the method of iOS 26.4, or without `mustReport` by the older one.
    /// - Returns: what was reported before the handler returned.
    private func deliver(_ payload: [AnyHashable: Any], mustReport: Bool? = nil) -> [CXProvider.Report] {
        let before = provider.reports.count
        let payload = PKPushPayload(payload)
        if let mustReport {
            center.pushRegistry(
                registry, didReceiveIncomingVoIPPushWith: payload, metadata: PKVoIPPushMetadata(mustReport: mustReport)
            ) {}
        } else {
            center.pushRegistry(registry, didReceiveIncomingPushWith: payload, for: .voIP) {}
        }
        return Array(provider.reports[before...])
    }

    /// Delivers unreadable pushes. Each becomes a call that ends at once, unless no report is required.
    private func unreadable() async throws {
        for mustReport in [nil, true] {
            let reports = deliver(["aps": [String: Any]()], mustReport: mustReport)
            guard case .incoming(let uuid, handle: "Unknown") = reports.first, reports.count == 1 else {
                throw Unexpected(what: "an unreadable push made \(reports)")
            }
            try await eventually("the call ends") { provider.reports.last == .ended(uuid, .failed) }
        }
        try expect(deliver([:], mustReport: false).isEmpty, "a push that need not be reported was")
        try await tasksEnd()
    }

    private func tasksEnd() async throws {
        try await eventually("the background tasks end") { UIApplication.shared.running.isEmpty }
    }

    func run(_ scenario: String, _ payload: String) async throws {
        try await unreadable()
        guard let object = try JSONSerialization.jsonObject(with: Data(payload.utf8)) as? [String: Any],
            let push = IncomingPush(payload: object).push
        else { throw Unexpected(what: payload) }
        let uuid = push.call.uuid
        provider.filters = scenario == "filters"
        let begun = UIApplication.shared.begun
        try expect(deliver(object, mustReport: true) == [.incoming(uuid, handle: "alice")], "the push")
        try expect(UIApplication.shared.begun == begun + 1, "a background task has begun in the handler")
        switch scenario {
        case "answers": try await answers(push.call, object)
        case "declines":
            let action = CXEndCallAction(call: uuid)
            center.provider(provider, perform: action)
            try expect(action.isFulfilled == true, "the end")
        default: break
        }
        try await tasksEnd()
        // What the app or the system did needs no end from the app.
        let ends = provider.reports.filter { if case .ended(uuid, _) = $0 { true } else { false } }
        try expect(ends == (scenario == "answers" ? [.ended(uuid, .remoteEnded)] : []), "the ends")
        await center.softphone.disconnect()
    }

    private func answers(_ call: CallID, _ payload: [AnyHashable: Any]) async throws {
        try expect(deliver(payload) == [.incoming(call.uuid, handle: "alice")], "the same push again")
        let action = CXAnswerCallAction(call: call.uuid)
        center.provider(provider, perform: action)
        try await eventually("the answer is taken") { action.isFulfilled == true }
        try await center.softphone.connected(call)
        try await eventually("the call ends") { provider.reports.last == .ended(call.uuid, .remoteEnded) }
    }

    /// The session announces a call, without a push. The user answers, holds and ends it, and calls back.
    func online() async throws {
        center.pushRegistry(
            registry, didUpdate: PKPushCredentials(token: Data(0..<32)), for: .voIP)
        center.softphone.start()
        try await eventually("the call comes") { !provider.reports.isEmpty }
        guard case .incoming(let uuid, handle: "alice") = provider.reports[0] else {
            throw Unexpected(what: "\(provider.reports)")
        }
        let call = CallID(uuid)
        try await perform(CXAnswerCallAction(call: uuid)) { center.provider(provider, perform: $0) }
        try await center.softphone.connected(call)
        try await perform(CXSetHeldCallAction(call: uuid, onHold: true)) { center.provider(provider, perform: $0) }
        try await perform(CXEndCallAction(call: uuid)) { center.provider(provider, perform: $0) }
        try await tasksEnd()
        try expect(provider.reports.allSatisfy { if case .ended = $0 { false } else { true } }, "no end is reported")

        let back = UUID()
        let start = CXStartCallAction(call: back, handle: CXHandle(type: .generic, value: "alice"))
        try await perform(start) { center.provider(provider, perform: $0) }
        try await eventually("alice answers") { provider.reports.contains(.connecting(back)) }
        try await center.softphone.connected(CallID(back))
        try await eventually("alice hangs up") { provider.reports.last == .ended(back, .remoteEnded) }
        try expect(provider.reports.contains(.connected(back)), "the call is connected")
        await center.softphone.disconnect()
    }

    private func perform<Action: CXAction>(_ action: Action, _ perform: (Action) -> Void) async throws {
        perform(action)
        try await eventually("\(type(of: action)) is done") { action.isFulfilled != nil }
        try expect(action.isFulfilled == true, "\(type(of: action)) failed")
    }
}

@main
enum Main {
    static func main() {
        Task { @MainActor in
            do {
                let arguments = CommandLine.arguments
                guard arguments.count == 5, let device = DeviceID(arguments[2]) else {
                    throw Unexpected(what: "arguments: URL DEVICE_ID SCENARIO PAYLOAD|TOKEN")
                }
                if arguments[3] == "online" {
                    try await GlueCheck(arguments[1], device, token: arguments[4]).online()
                } else {
                    try await GlueCheck(arguments[1], device, token: nil).run(arguments[3], arguments[4])
                }
                exit(0)
            } catch {
                FileHandle.standardError.write(Data("glue-check: \(error)\n".utf8))
                exit(1)
            }
        }
        RunLoop.main.run()
    }
}
