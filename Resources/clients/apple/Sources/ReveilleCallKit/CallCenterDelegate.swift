#if canImport(PushKit) && canImport(CallKit) && canImport(UIKit)
    import CallVocabulary
    import SoftphoneSession

    /// The app's side of a ``CallCenter``: media, and what the app's own screens show. On the main thread.
    @MainActor
    public protocol CallCenterDelegate: AnyObject, Sendable {
        /// The user answers: returns the answer's session description.
        /// - Parameters:
        ///   - offer: nil while only the push has told of the call. To answer at once, return nil, and send the
        ///     description with `update(.answer)` after the event `offer`.
        /// - Throws: when there is no media; the call then ends as failed.
        func answer(_ call: CallID, offer: RawJSON?) async throws -> RawJSON?

        /// The user calls: returns the offer.
        func offer(for call: CallID) async throws -> RawJSON?

        /// An event of the phone, after CallKit was told of it. Candidates and updates are for the media engine.
        func happened(_ event: SoftphoneEvent)

        /// The user has muted or unmuted the microphone on the system's screen.
        func setMuted(_ isMuted: Bool, in call: CallID)

        /// The system has made the app's `AVAudioSession` active: audio may start now, and not before.
        func audioStarted()

        func audioStopped()
    }
#endif
