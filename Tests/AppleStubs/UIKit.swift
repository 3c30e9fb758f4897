// What ReveilleCallKit uses of Apple's UIKit, written after Apple's public documentation: for type checks on Linux, and for
// GlueCheck, which drives the delegates. No simulation of iOS.

import Foundation

public struct UIBackgroundTaskIdentifier: Hashable, Sendable {
    public static let invalid = UIBackgroundTaskIdentifier(number: 0)

    let number: Int
}

@MainActor
public final class UIApplication: NSObject {
    public static let shared = UIApplication()

    /// For the check: tasks that have begun, and those that have not ended.
    public private(set) var begun = 0
    public private(set) var running: Set<UIBackgroundTaskIdentifier> = [] { didSet { changed() } }
    /// Called after a task begins or ends.
    public var changed: () -> Void = {}

    public nonisolated func beginBackgroundTask(
        withName taskName: String?, expirationHandler handler: (@MainActor @Sendable () -> Void)? = nil
    ) -> UIBackgroundTaskIdentifier {
        MainActor.assumeIsolated {
            begun += 1
            let id = UIBackgroundTaskIdentifier(number: begun)
            running.insert(id)
            return id
        }
    }

    public nonisolated func endBackgroundTask(_ identifier: UIBackgroundTaskIdentifier) {
        MainActor.assumeIsolated { _ = running.remove(identifier) }
    }
}
