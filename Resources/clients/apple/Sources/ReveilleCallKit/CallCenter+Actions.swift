#if canImport(PushKit) && canImport(CallKit) && canImport(UIKit)
    import AVFAudio
    import CallKit
    import CallVocabulary
    import Foundation
    import ReveilleClient
    import SoftphoneSession

    /// What the user does on the system's screen.
    extension CallCenter: CXProviderDelegate {
        public func providerDidReset(_ provider: CXProvider) {
            waiting = [:]
            inBackground("reset") { center in
                for call in await center.softphone.calls() { _ = try? await center.softphone.hangup(call.id) }
            }
        }

        public func provider(_ provider: CXProvider, perform action: CXStartCallAction) {
            guard let callee = Handle(action.handle.value) else { return action.fail() }
            let (call, video) = (CallID(action.callUUID), action.isVideo)
            let delegate = delegate
            placed(call)
            settle(action) { center in
                let offer = try await delegate?.offer(for: call)
                try await center.softphone.call(.user(callee), sdp: offer, video: video, callID: call)
            }
        }

        public func provider(_ provider: CXProvider, perform action: CXAnswerCallAction) {
            let call = CallID(action.callUUID)
            let (delegate, offer) = (delegate, offers[call])
            settle(action) { center in
                do {
                    let answer = try await delegate?.answer(call, offer: offer)
                    // Queued while there is no connection. The session opens with the wake token if the app has no
                    // other token.
                    try await center.softphone.answer(call, sdp: answer)
                } catch let error as SoftphoneError {
                    throw error
                } catch {
                    _ = try? await center.softphone.decline(call)
                    throw error
                }
            }
        }

        public func provider(_ provider: CXProvider, perform action: CXEndCallAction) {
            let call = CallID(action.callUUID)
            let requests = requests(for: call)
            endedByUser(call)
            inBackground("end") { center in
                let known = await center.softphone.calls().first { $0.id == call }
                let isRinging = known.map { $0.role == .callee && $0.state.isRingingPhase } ?? true
                // Over HTTP and over the socket, because iOS may suspend the app before its socket is open. The
                // second request changes nothing.
                async let byHTTP = isRinging ? requests?.decline(call) : requests?.hangup(call)
                if isRinging {
                    _ = try? await center.softphone.decline(call)
                } else {
                    _ = try? await center.softphone.hangup(call)
                }
                _ = try? await byHTTP
            }
            action.fulfill()
        }

        public func provider(_ provider: CXProvider, perform action: CXSetHeldCallAction) {
            let (call, isOnHold) = (CallID(action.callUUID), action.isOnHold)
            settle(action) { center in
                if isOnHold { try await center.softphone.hold(call) } else { try await center.softphone.resume(call) }
            }
        }

        public func provider(_ provider: CXProvider, perform action: CXSetMutedCallAction) {
            let (call, isMuted) = (CallID(action.callUUID), action.isMuted)
            MainActor.assumeIsolated { delegate?.setMuted(isMuted, in: call) }
            // The microphone is muted whether or not the other side is told.
            Task { [softphone] in try? await softphone.mute(call, isMuted) }
            action.fulfill()
        }

        public func provider(_ provider: CXProvider, timedOutPerforming action: CXAction) {
            waiting[action.uuid] = nil
        }

        public func provider(_ provider: CXProvider, didActivate audioSession: AVAudioSession) {
            MainActor.assumeIsolated { delegate?.audioStarted() }
        }

        public func provider(_ provider: CXProvider, didDeactivate audioSession: AVAudioSession) {
            MainActor.assumeIsolated { delegate?.audioStopped() }
        }

        /// Fulfils `action` when `body` returns, and fails it when `body` throws. An action is not `Sendable`: it stays on
        /// the main queue.
        private func settle(
            _ action: CXCallAction, _ body: @escaping @Sendable (CallCenter) async throws -> Void
        ) {
            let id = action.uuid
            waiting[id] = action
            inBackground("action") { center in
                let isDone: Bool
                do {
                    try await body(center)
                    isDone = true
                } catch {
                    isDone = false
                }
                center.onMain { center in
                    guard let action = center.waiting.removeValue(forKey: id) else { return }
                    if isDone { action.fulfill() } else { action.fail() }
                }
            }
        }
    }
#endif
