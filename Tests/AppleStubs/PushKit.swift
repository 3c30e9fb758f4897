// What ReveilleCallKit uses of Apple's PushKit, written after Apple's public documentation: for type checks on Linux, and for
// GlueCheck, which drives the delegates. No simulation of iOS.

import Foundation

public struct PKPushType: Hashable, Sendable {
    public static let voIP = PKPushType()
}

public final class PKPushCredentials: NSObject {
    public let token: Data

    public init(token: Data) { self.token = token }
}

public final class PKPushPayload: NSObject {
    public let dictionaryPayload: [AnyHashable: Any]

    public init(_ payload: [AnyHashable: Any]) { dictionaryPayload = payload }
}

public final class PKVoIPPushMetadata: NSObject, Sendable {
    public let mustReport: Bool

    public init(mustReport: Bool) { self.mustReport = mustReport }
}

public final class PKPushRegistry: NSObject {
    public weak var delegate: (any PKPushRegistryDelegate)?
    public var desiredPushTypes: Set<PKPushType>?

    /// For the check: the app's only one.
    // Proof: set and read on the main thread.
    nonisolated(unsafe) public static var last: PKPushRegistry?

    public init(queue: DispatchQueue?) {
        super.init()
        Self.last = self
    }
}

public protocol PKPushRegistryDelegate: NSObjectProtocol {
    func pushRegistry(
        _ registry: PKPushRegistry, didUpdate pushCredentials: PKPushCredentials, for type: PKPushType)
    func pushRegistry(_ registry: PKPushRegistry, didInvalidatePushTokenFor type: PKPushType)
    func pushRegistry(
        _ registry: PKPushRegistry, didReceiveIncomingPushWith payload: PKPushPayload, for type: PKPushType,
        completion: @escaping @Sendable () -> Void)
    @available(iOS 26.4, *)
    func pushRegistry(
        _ registry: PKPushRegistry, didReceiveIncomingVoIPPushWith payload: PKPushPayload,
        metadata: PKVoIPPushMetadata, withCompletionHandler completion: @escaping @Sendable () -> Void)
}
