#if canImport(PushKit) && canImport(CallKit) && canImport(UIKit)
    import UIKit

    /// Time to finish a request after the app goes to the background: about 30 s.
    @MainActor
    final class BackgroundTask {
        private var id = UIBackgroundTaskIdentifier.invalid

        init(_ name: String) {
            id = UIApplication.shared.beginBackgroundTask(withName: name) { [weak self] in self?.end() }
        }

        /// iOS terminates an app whose background tasks do not end in time.
        func end() {
            guard id != .invalid else { return }
            UIApplication.shared.endBackgroundTask(id)
            id = .invalid
        }
    }
#endif
