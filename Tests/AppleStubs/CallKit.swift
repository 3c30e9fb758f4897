// What ReveilleCallKit uses of Apple's CallKit, written after Apple's public documentation. For type checks on Linux
// only: nothing here runs.

import AVFAudio
import Foundation

public enum CXCallEndedReason: Int, Sendable {
    case failed = 1
    case remoteEnded, unanswered, answeredElsewhere, declinedElsewhere
}

public struct CXErrorCodeIncomingCallError: Error {
    public enum Code: Int, Sendable {
        case unknown, unentitled, callUUIDAlreadyExists, filteredByDoNotDisturb, filteredByBlockList
        case filteredDuringRestrictedSharingMode, callIsProtected, filteredBySensitiveParticipants
    }

    public var code: Code
}

public final class CXHandle: NSObject {
    public enum HandleType: Int, Sendable {
        case generic = 1
        case phoneNumber, emailAddress
    }

    public var value: String { preconditionFailure() }

    public init(type: HandleType, value: String) {}
}

public final class CXCallUpdate: NSObject {
    public var remoteHandle: CXHandle?
    public var localizedCallerName: String?
    public var hasVideo = false
}

public final class CXProviderConfiguration: NSObject {
    public var supportsVideo = false
    public var maximumCallsPerCallGroup = 5
    public var supportedHandleTypes: Set<CXHandle.HandleType> = []
}

public final class CXProvider: NSObject {
    public init(configuration: CXProviderConfiguration) {}

    public func setDelegate(_ delegate: (any CXProviderDelegate)?, queue: DispatchQueue?) {}

    /// `completion` runs on the delegate's queue.
    public func reportNewIncomingCall(
        with UUID: UUID, update: CXCallUpdate, completion: @escaping @Sendable ((any Error)?) -> Void
    ) {}

    public func reportCall(with UUID: UUID, updated update: CXCallUpdate) {}

    public func reportCall(with UUID: UUID, endedAt dateEnded: Date?, reason endedReason: CXCallEndedReason) {}

    public func reportOutgoingCall(with UUID: UUID, startedConnectingAt dateStartedConnecting: Date?) {}

    public func reportOutgoingCall(with UUID: UUID, connectedAt dateConnected: Date?) {}
}

public protocol CXProviderDelegate: NSObjectProtocol {
    func providerDidReset(_ provider: CXProvider)
    func provider(_ provider: CXProvider, perform action: CXStartCallAction)
    func provider(_ provider: CXProvider, perform action: CXAnswerCallAction)
    func provider(_ provider: CXProvider, perform action: CXEndCallAction)
    func provider(_ provider: CXProvider, perform action: CXSetHeldCallAction)
    func provider(_ provider: CXProvider, perform action: CXSetMutedCallAction)
    func provider(_ provider: CXProvider, timedOutPerforming action: CXAction)
    func provider(_ provider: CXProvider, didActivate audioSession: AVAudioSession)
    func provider(_ provider: CXProvider, didDeactivate audioSession: AVAudioSession)
}

open class CXAction: NSObject {
    public var uuid: UUID { preconditionFailure() }

    public func fulfill() {}

    public func fail() {}
}

open class CXCallAction: CXAction {
    public var callUUID: UUID { preconditionFailure() }
}

public final class CXStartCallAction: CXCallAction {
    public var handle: CXHandle { preconditionFailure() }
    public var isVideo: Bool { preconditionFailure() }
}

public final class CXAnswerCallAction: CXCallAction {}

public final class CXEndCallAction: CXCallAction {}

public final class CXSetHeldCallAction: CXCallAction {
    public var isOnHold: Bool { preconditionFailure() }
}

public final class CXSetMutedCallAction: CXCallAction {
    public var isMuted: Bool { preconditionFailure() }
}
