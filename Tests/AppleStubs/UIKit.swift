// What ReveilleCallKit uses of Apple's UIKit, written after Apple's public documentation. For type checks on Linux only:
// nothing here runs.

import Foundation

public struct UIBackgroundTaskIdentifier: Hashable, Sendable {
    public static let invalid = UIBackgroundTaskIdentifier()
}

@MainActor
public final class UIApplication: NSObject {
    public class var shared: UIApplication { preconditionFailure() }

    public nonisolated func beginBackgroundTask(
        withName taskName: String?, expirationHandler handler: (@MainActor @Sendable () -> Void)? = nil
    ) -> UIBackgroundTaskIdentifier {
        preconditionFailure()
    }

    public nonisolated func endBackgroundTask(_ identifier: UIBackgroundTaskIdentifier) {}
}
