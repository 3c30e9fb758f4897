#if canImport(PushKit) && canImport(CallKit) && canImport(UIKit)
    import CallKit
    import CallVocabulary
    import Foundation
    import PushKit
    import ReveilleClient
    import SoftphoneSession
    import UIKit

    /// A phone on PushKit and CallKit: reports each push, shows each call, and does what the user says on the system's
    /// screen. `SoftphoneSession` decides about calls.
    ///
    /// Make one in `application(_:didFinishLaunchingWithOptions:)` and keep it: a push that finds no registry is never
    /// reported, and after some of those iOS withholds pushes. On the main thread, like all its methods.
    public final class CallCenter: NSObject, @unchecked Sendable {
        // Proof: PushKit and CallKit call on the main queue, as asked for in `init`; what completes elsewhere comes back
        // by `onMain`; and the methods for the app demand the main queue.

        public struct Configuration: Sendable {
            public var phone: Softphone.Configuration
            /// The app's bundle id; its VoIP topic is this and `.voip`.
            public var bundle: String
            /// `.sandbox` for a build from Xcode.
            public var environment: PushEnvironment
            /// Shown for a push that cannot be read, which the system wants reported too. Not empty.
            public var unknownCaller = "Unknown"
            public var supportsVideo = false

            public init(phone: Softphone.Configuration, bundle: String, environment: PushEnvironment) {
                self.phone = phone
                self.bundle = bundle
                self.environment = environment
            }
        }

        /// The state of a call in CallKit.
        private enum Screen {
            case shown
            /// Do not disturb, a blocked caller, or an error.
            case refused
            /// The server's response to the report said that the call has ended. The session's events may come later.
            case over
        }

        public let softphone: Softphone
        public weak var delegate: (any CallCenterDelegate)?

        private let configuration: Configuration
        private let registry = PKPushRegistry(queue: .main)
        let provider: CXProvider
        /// The calls that CallKit was told of.
        private var screens: [CallID: Screen] = [:]
        /// The wake token of each call that a push brought.
        private var wakeTokens: [CallID: String] = [:]
        /// Push tokens that the server does not have yet.
        private var unregistered: [PushToken]?
        /// The offers so far.
        var offers: [CallID: RawJSON] = [:]
        /// Actions that wait for the server, by their own ids.
        var waiting: [UUID: CXCallAction] = [:]

        /// - Throws: `badURL`.
        public init(configuration: Configuration, delegate: any CallCenterDelegate) throws {
            dispatchPrecondition(condition: .onQueue(.main))
            self.configuration = configuration
            self.delegate = delegate
            var phone = configuration.phone
            // A call that CallKit refuses to show does not ring.
            phone.session.automaticRinging = false
            softphone = try Softphone(configuration: phone)
            let screen = CXProviderConfiguration()
            screen.supportsVideo = configuration.supportsVideo
            screen.maximumCallsPerCallGroup = 1
            screen.supportedHandleTypes = [.generic, .phoneNumber, .emailAddress]
            provider = CXProvider(configuration: screen)
            super.init()
            provider.setDelegate(self, queue: .main)
            softphone.onEvent { [weak self] event in self?.onMain { $0.happened(event) } }
            // The delegate first: a push may be waiting for the registry.
            registry.delegate = self
            registry.desiredPushTypes = [.voIP]
        }

        func onMain(_ body: @escaping @Sendable (CallCenter) -> Void) {
            DispatchQueue.main.async { body(self) }
        }

        // MARK: Pushes

        /// Reports the call of a push before it returns, because PushKit checks then.
        private func received(_ payload: [AnyHashable: Any], mustReport: Bool) {
            let incoming = IncomingPush(payload: payload, unknownCaller: configuration.unknownCaller)
            // A call reported for an unreadable push appears and ends at once: only where iOS requires a report.
            guard incoming.push != nil || mustReport else { return }
            let update = CXCallUpdate()
            update.remoteHandle = CXHandle(type: .init(incoming.handleType), value: incoming.handle)
            update.localizedCallerName = incoming.name
            update.hasVideo = incoming.hasVideo
            let (outcomes, outcome) = AsyncStream.makeStream(of: Outcome.self)
            // Also for a call that the session has announced already: the error `callUUIDAlreadyExists` does no harm.
            provider.reportNewIncomingCall(with: incoming.uuid, update: update) { error in
                outcome.yield(Outcome(error))
                outcome.finish()
            }
            if let push = incoming.push {
                screens[push.call] = .shown
                wakeTokens[push.call] = push.wakeToken
                softphone.received(push)
            }
            inBackground("report") { center in
                for await outcome in outcomes {
                    guard let push = incoming.push else {
                        return center.onMain { center in
                            center.provider.reportCall(with: incoming.uuid, endedAt: nil, reason: .failed)
                        }
                    }
                    await center.report(push, outcome, mustReport: mustReport)
                }
            }
        }

        /// Tells the server what became of a push. Any thread.
        private func report(_ push: CallPush, _ outcome: Outcome, mustReport: Bool) async {
            let result = ReportResult(incomingCallError: outcome.code, mustReport: mustReport)
            let report = PushReport(
                push: push.push, call: push.call, result: result, error: result == .reported ? nil : outcome.text)
            if result != .reported { onMain { $0.screens[push.call] = .refused } }
            guard let token = push.wakeToken, let requests = requests(token: token) else {
                // Over the socket, with the user's token.
                return _ = try? await softphone.report(report)
            }
            guard let standing = try? await requests.report(report), standing.state == .ended else { return }
            onMain { center in
                center.end(push.call, standing.reason ?? .connectionLost)
                center.screens[push.call] = .over
            }
        }

        /// CallKit's answer to a reported call.
        private struct Outcome: Sendable {
            /// The raw value of the `CXErrorCodeIncomingCallError.Code`, 0 (unknown) for another error; nil without one.
            let code: Int?
            let text: String?

            init(_ error: (any Error)?) {
                code = error.map { ($0 as? CXErrorCodeIncomingCallError)?.code.rawValue ?? 0 }
                text = error.map { "\($0)" }
            }
        }

        /// HTTP requests about a call that a push brought: they work before the first unlock, without the keychain.
        func requests(for call: CallID) -> CallRequests? { wakeTokens[call].flatMap { requests(token: $0) } }

        private func requests(token: String) -> CallRequests? {
            try? CallRequests(server: configuration.phone.url, token: token)
        }

        /// Runs `body` in a background task, which has begun on return.
        func inBackground(_ name: String, _ body: @escaping @Sendable (CallCenter) async -> Void) {
            // Proof: on the main queue.
            let task = MainActor.assumeIsolated { BackgroundTask("reveille \(name)") }
            Task {
                await body(self)
                await task.end()
            }
        }

        // MARK: Events

        private func happened(_ event: SoftphoneEvent) {
            switch event {
            case .incoming(let call, _): show(call)
            case .offer(let call):
                offers[call.id] = call.sdp
                if screens[call.id] == .shown {
                    provider.reportCall(with: call.id.uuid, updated: Self.update(of: call))
                }
            case .state(let call): advance(call)
            case .ended(let call):
                // Without a reason this device ended the call, and CallKit knows.
                if call.callKitReason != nil, let reason = call.reason { end(call.id, reason) } else { forget(call.id) }
            case .latePush(let push, let reason): end(push.call, reason)
            case .connection(.up): registerTokens()
            case .merged, .candidates, .update, .peer, .connection, .draining: break
            }
            MainActor.assumeIsolated { delegate?.happened(event) }
        }

        /// Shows a call that the session announced, unless its push was first.
        private func show(_ call: PhoneCall) {
            let (id, push) = (call.id, call.push)
            if let screen = screens[id] {
                if screen == .shown { provider.reportCall(with: id.uuid, updated: Self.update(of: call)) }
                return
            }
            screens[id] = .shown
            provider.reportNewIncomingCall(with: id.uuid, update: Self.update(of: call)) { error in
                let result = ReportResult(incomingCallError: Outcome(error).code)
                self.onMain { center in
                    if result != .reported { center.screens[id] = .refused }
                    center.inBackground("ringing") { center in
                        if result == .reported { _ = try? await center.softphone.ringing(id) }
                        guard let push else { return }
                        _ = try? await center.softphone.report(PushReport(push: push, call: id, result: result))
                    }
                }
            }
        }

        private func advance(_ call: PhoneCall) {
            guard call.role == .caller else { return }
            switch call.state {
            case .answered: provider.reportOutgoingCall(with: call.id.uuid, startedConnectingAt: nil)
            case .connected: provider.reportOutgoingCall(with: call.id.uuid, connectedAt: nil)
            case .routing, .waking, .ringing, .ended: break
            }
        }

        /// Takes a call off the screen, once.
        private func end(_ call: CallID, _ reason: EndReason) {
            if screens[call] == .shown {
                provider.reportCall(
                    with: call.uuid, endedAt: nil, reason: CXCallEndedReason(rawValue: reason.callKitCode) ?? .failed)
            }
            forget(call)
        }

        private func forget(_ call: CallID) {
            screens[call] = nil
            wakeTokens[call] = nil
            offers[call] = nil
        }

        /// Notes a call that the user places.
        func placed(_ call: CallID) { screens[call] = .shown }

        /// Notes a call that the user has ended. CallKit gets no end for it, whatever the server sends later.
        func endedByUser(_ call: CallID) { screens[call] = .over }

        private static func update(of call: PhoneCall) -> CXCallUpdate {
            let update = CXCallUpdate()
            if let from = call.from { update.remoteHandle = CXHandle(type: .generic, value: from.text) }
            update.localizedCallerName = call.fromName
            update.hasVideo = call.video
            return update
        }
    }

    extension CallCenter: PKPushRegistryDelegate {
        public func pushRegistry(
            _ registry: PKPushRegistry, didUpdate credentials: PKPushCredentials, for type: PKPushType
        ) {
            let digits = credentials.token.map { byte in
                (byte < 16 ? "0" : "") + String(byte, radix: 16)
            }
            register([
                PushToken(
                    provider: .apns, kind: .voip, environment: configuration.environment,
                    topic: configuration.bundle + ".voip", token: digits.joined())
            ])
        }

        public func pushRegistry(_ registry: PKPushRegistry, didInvalidatePushTokenFor type: PKPushType) {
            register([])
        }

        private func register(_ tokens: [PushToken]) {
            unregistered = tokens
            registerTokens()
        }

        /// Sends the tokens that the server does not have yet: the app may be offline, or signed out, when they come.
        private func registerTokens() {
            guard let tokens = unregistered else { return }
            Task {
                guard (try? await softphone.updatePushTokens(tokens)) != nil else { return }
                onMain { if $0.unregistered == tokens { $0.unregistered = nil } }
            }
        }

        /// Called by iOS before 26.4, which has no `mustReport`.
        public func pushRegistry(
            _ registry: PKPushRegistry, didReceiveIncomingPushWith payload: PKPushPayload, for type: PKPushType,
            completion: @escaping @Sendable () -> Void
        ) {
            received(payload.dictionaryPayload, mustReport: true)
            completion()
        }

        // The SDK of iOS 26.4 comes with Swift 6.3.
        #if compiler(>=6.3)
            @available(iOS 26.4, macCatalyst 26.4, visionOS 26.4, *)
            public func pushRegistry(
                _ registry: PKPushRegistry, didReceiveIncomingVoIPPushWith payload: PKPushPayload,
                metadata: PKVoIPPushMetadata, withCompletionHandler completion: @escaping @Sendable () -> Void
            ) {
                received(payload.dictionaryPayload, mustReport: metadata.mustReport)
                completion()
            }
        #endif
    }

    extension CXHandle.HandleType {
        init(_ type: IncomingPush.HandleType) {
            switch type {
            case .phone: self = .phoneNumber
            case .email: self = .emailAddress
            case .generic: self = .generic
            }
        }
    }
#endif
