// What ReveilleCallKit uses of Apple's PushKit, written after Apple's public documentation. For type checks on Linux
// only: nothing here runs.

import Foundation

public struct PKPushType: Hashable, Sendable {
    public static let voIP = PKPushType()
}

public final class PKPushCredentials: NSObject {
    public var token: Data { preconditionFailure() }
}

public final class PKPushPayload: NSObject {
    public var dictionaryPayload: [AnyHashable: Any] { preconditionFailure() }
}

public final class PKVoIPPushMetadata: NSObject, Sendable {
    public var mustReport: Bool { preconditionFailure() }
}

public final class PKPushRegistry: NSObject {
    public weak var delegate: (any PKPushRegistryDelegate)?
    public var desiredPushTypes: Set<PKPushType>?

    public init(queue: DispatchQueue?) {}
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
