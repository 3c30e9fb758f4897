// What ReveilleCallKit uses of Apple's CallKit, written after Apple's public documentation: for type checks on Linux, and for
// GlueCheck, which drives the delegates. No simulation of iOS.

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

    public let code: Code

    public init(_ code: Code) { self.code = code }
}

public final class CXHandle: NSObject {
    public enum HandleType: Int, Sendable {
        case generic = 1
        case phoneNumber, emailAddress
    }

    public let value: String

    public init(type: HandleType, value: String) { self.value = value }
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

public final class CXProvider: NSObject, @unchecked Sendable {
    /// For the check: a report of the app.
    public enum Report: Equatable, Sendable {
        case incoming(UUID, handle: String?)
        case updated(UUID)
        case ended(UUID, CXCallEndedReason)
        case connecting(UUID)
        case connected(UUID)
    }

    // Proof: all of these are used on the main queue, the check's and the delegate's.
    nonisolated(unsafe) public static var last: CXProvider?
    public var reports: [Report] = [] { didSet { Self.changed() } }
    /// Called after each report, and after an action is fulfilled or fails.
    nonisolated(unsafe) public static var changed: () -> Void = {}
    /// Do not disturb is on.
    public var filters = false
    public weak var delegate: (any CXProviderDelegate)?
    private var known: Set<UUID> = []

    public init(configuration: CXProviderConfiguration) {
        super.init()
        Self.last = self
    }

    public func setDelegate(_ delegate: (any CXProviderDelegate)?, queue: DispatchQueue?) { self.delegate = delegate }

    /// `completion` runs on the delegate's queue.
    public func reportNewIncomingCall(
        with UUID: UUID, update: CXCallUpdate, completion: @escaping @Sendable ((any Error)?) -> Void
    ) {
        reports.append(.incoming(UUID, handle: update.remoteHandle?.value))
        var error: CXErrorCodeIncomingCallError?
        if filters {
            error = CXErrorCodeIncomingCallError(.filteredByDoNotDisturb)
        } else if !known.insert(UUID).inserted {
            error = CXErrorCodeIncomingCallError(.callUUIDAlreadyExists)
        }
        DispatchQueue.main.async { [error] in completion(error) }
    }

    public func reportCall(with UUID: UUID, updated update: CXCallUpdate) { reports.append(.updated(UUID)) }

    public func reportCall(with UUID: UUID, endedAt dateEnded: Date?, reason endedReason: CXCallEndedReason) {
        known.remove(UUID)
        reports.append(.ended(UUID, endedReason))
    }

    public func reportOutgoingCall(with UUID: UUID, startedConnectingAt dateStartedConnecting: Date?) {
        reports.append(.connecting(UUID))
    }

    public func reportOutgoingCall(with UUID: UUID, connectedAt dateConnected: Date?) {
        reports.append(.connected(UUID))
    }
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
    public let uuid = UUID()
    /// For the check; nil while the action is performed.
    public private(set) var isFulfilled: Bool? { didSet { CXProvider.changed() } }

    public func fulfill() { isFulfilled = true }

    public func fail() { isFulfilled = false }
}

open class CXCallAction: CXAction {
    public let callUUID: UUID

    public init(call: UUID) { callUUID = call }
}

public final class CXStartCallAction: CXCallAction {
    public let handle: CXHandle
    public var isVideo = false

    public init(call: UUID, handle: CXHandle) {
        self.handle = handle
        super.init(call: call)
    }
}

public final class CXAnswerCallAction: CXCallAction {}

public final class CXEndCallAction: CXCallAction {}

public final class CXSetHeldCallAction: CXCallAction {
    public let isOnHold: Bool

    public init(call: UUID, onHold: Bool) {
        isOnHold = onHold
        super.init(call: call)
    }
}

public final class CXSetMutedCallAction: CXCallAction {
    public let isMuted: Bool

    public init(call: UUID, muted: Bool) {
        isMuted = muted
        super.init(call: call)
    }
}
