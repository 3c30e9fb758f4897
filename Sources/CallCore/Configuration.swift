import CallVocabulary

/// How long each stage of a call may take. All of them run on the server and survive a restart.
public struct CallTimers: Equatable, Sendable {
    /// How long a call rings when the invite does not say.
    public var ring = Duration.seconds(45)
    /// From one member's turn to the next in a group that is hunted through.
    public var huntStep = Duration.seconds(15)
    /// From the answer until both sides say that media flows.
    public var connect = Duration.seconds(20)
    /// From the provider's answer until the device has reported the push.
    public var report = Duration.seconds(15)
    /// From `call.incoming` on a live socket until a sign of life, after which the device is pushed as well.
    public var delivery = Duration.seconds(2)
    /// How long a session whose socket is gone can be resumed, and a party may be away.
    public var resume = Duration.seconds(30)
    /// For how long after a missed call its user's devices are still pushed about it.
    public var notice = Duration.seconds(3600)
    /// The time that ``CoreLimits/backgroundPushes`` counts for.
    public var backgroundWindow = Duration.seconds(3600)
    /// The time that ``CoreLimits/pushesPerDevice`` and its like count for.
    public var pushWindow = Duration.seconds(30)
    /// How long a suspended device is left alone before each probe; the last goes on for ever. By then the device has had
    /// three pushes without a report: if its app is broken, Apple's patience is over anyway, and four more in 31 hours do no
    /// harm. If it was off, it rings again within these.
    public var probePauses: [Duration] = [.seconds(600), .seconds(3600), .seconds(21_600), .seconds(86_400)]
    /// How long an ended call stays in memory for late commands.
    public var tombstone = Duration.seconds(120)
    /// How long a call that was looked up in the store stays in memory again.
    public var archive = Duration.seconds(5)

    /// What an invite may ask for as its ring time.
    public static let ringRange = Duration.seconds(5)...Duration.seconds(180)

    public init() {}
}

/// Every bound of the core. Each has a counter of how often it was hit, in ``CoreCounters``.
public struct CoreLimits: Equatable, Sendable {
    public var liveCalls = 200_000
    public var liveCallsPerUser = 100
    public var legsPerCall = 1_000
    public var devicesPerUser = 16
    public var tokensPerDevice = FrameLimits.pushTokens
    public var sessions = 1_000_000
    /// Events kept for resume until they are acknowledged.
    public var replayEvents = 256
    public var replayBytes = 256 * 1024
    /// Candidates kept for devices that are still to be told of the call, per sending side.
    public var bufferedCandidates = 128
    public var bufferedCandidateBytes = 48 * 1024
    /// Pushes in a row without the report that was owed after which a device is suspended.
    public var unreportedStreak = 3
    /// Pushes to one device in ``CallTimers/pushWindow``: as many at once, then one for each equal part. A person does not
    /// call the same phone more than six times in half a minute, nor do ten.
    public var pushesPerDevice = 10
    /// The same of calls by one user to one other that push.
    public var pushingCallsPerPair = 6
    /// The same of all calls by one user that push. A call to a group counts once.
    public var pushingCallsPerCaller = 60
    public var missedPerUser = 100
    /// Pushes about missed calls that are not settled yet.
    public var notices = 100_000
    /// Those of them for one device; beyond that a newer one takes the place of the oldest.
    public var noticesPerDevice = 20
    /// Background pushes to a device in ``CallTimers/backgroundWindow``: iOS itself lets no more than two or three an
    /// hour through.
    public var backgroundPushes = 2
    public var groups = 100_000
    public var aliases = 10_000_000
    /// Handles in lists that nobody has registered yet, over all live calls.
    public var awaitedHandles = 1_000_000
    /// Inputs that may wait for the store to look a call up.
    public var lookUps = 10_000
    /// Calls in memory that are over, for late commands. With more the oldest are left to the store before
    /// ``CallTimers/tombstone`` has passed, but for those whose end a woken device may not know of.
    public var endedCalls = 200_000
    /// Legs in memory of calls that were over long ago and were asked for again.
    public var archivedLegs = 200_000

    public init() {}
}

/// What the core has counted since the start.
public struct CoreCounters: Equatable, Sendable {
    public var callsInvited: UInt64 = 0
    public var callsAnswered: UInt64 = 0
    public var callsConnected: UInt64 = 0
    /// By the position of the reason in `EndReason.allCases`.
    public var callsEnded: [UInt64]
    public var pushesIntended: UInt64 = 0
    /// Those that a restart gave back.
    public var pushesRecovered: UInt64 = 0
    public var devicesSuspended: UInt64 = 0
    /// Pushes about missed calls, and those there was no room for.
    public var noticesIntended: UInt64 = 0
    public var noticesDropped: UInt64 = 0
    public var sessionsResumed: UInt64 = 0
    public var replayOverflows: UInt64 = 0
    /// By the position of the limit in `CoreLimit.allCases`.
    public private(set) var limitHits: [UInt64]
    /// Candidates that there was no room for; their senders were told.
    public var candidatesRefused: UInt64 = 0
    /// Calls looked up in the store.
    public var callsLookedUp: UInt64 = 0
    /// Ended calls that ``CoreLimits/endedCalls`` left no room for. Nobody is turned away by that, so it is no hit of a limit.
    public var callsLeftToStore: UInt64 = 0

    public init() {
        callsEnded = Array(repeating: 0, count: EndReason.allCases.count)
        limitHits = Array(repeating: 0, count: CoreLimit.allCases.count)
    }

    /// How often any bound was hit.
    public var limitsHit: UInt64 { limitHits.reduce(0, +) }

    /// How often this one was.
    public func hits(of limit: CoreLimit) -> UInt64 { limitHits[Self.position(of: limit)] }

    mutating func hit(_ limit: CoreLimit) { limitHits[Self.position(of: limit)] += 1 }

    private static func position(of limit: CoreLimit) -> Int {
        // It is among its own `allCases`.
        CoreLimit.allCases.firstIndex(of: limit)!
    }
}
