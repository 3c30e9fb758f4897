import CallVocabulary

/// The durations of each stage of a call. All timers run on the server and survive a restart.
public struct CallTimers: Equatable, Sendable {
    /// How long a call rings when the invite gives no ring time.
    public var ring = Duration.seconds(45)
    /// The longest ring time that an invite may ask for.
    public var longestRing = Duration.seconds(180)
    /// The delay from one member of a hunt group to the next.
    public var huntStep = Duration.seconds(15)
    /// The time limit for media on both sides, from the answer.
    public var connect = Duration.seconds(20)
    /// How long a call may last from the time media flows; nil has no limit.
    public var longestCall: Duration?
    /// The time limit for the device's report, from the provider's answer.
    public var report = Duration.seconds(15)
    /// The time limit for a sign of life, from `call.incoming` on a live socket; after it the device is also pushed.
    public var delivery = Duration.seconds(2)
    /// How long after a start devices that the process has not seen may come back before they count as offline. A client
    /// tries again after at most a few seconds.
    public var comeback = Duration.seconds(10)
    /// How long a session without a socket can be resumed, and a party of a call may have no connection.
    public var resume = Duration.seconds(30)
    /// How long after a missed call its user's devices are still pushed about it.
    public var notice = Duration.seconds(3600)
    /// The window of ``CoreLimits/backgroundPushes``.
    public var backgroundWindow = Duration.seconds(3600)
    /// The window of ``CoreLimits/pushesPerDevice``, ``CoreLimits/pushingCallsPerPair``,
    /// ``CoreLimits/pushingCallsPerCaller`` and ``CoreLimits/pushesPerCaller``.
    public var pushWindow = Duration.seconds(30)
    /// The pause before each probe of a suspended device; the last one repeats. A suspended device has left three
    /// pushes unreported. If its app is broken, iOS has stopped delivering anyway, and four more pushes in 31 hours do
    /// no harm. If it was off, it rings again after one of these pauses.
    public var probePauses: [Duration] = [.seconds(600), .seconds(3600), .seconds(21_600), .seconds(86_400)]
    /// How long a device is kept that is not seen; nil keeps all.
    public var deviceAge: Duration?
    /// How long an ended call stays in memory for late commands.
    public var tombstone = Duration.seconds(120)
    /// How long a call stays in memory after it was looked up in the store.
    public var archive = Duration.seconds(5)

    /// The ring times that a server can be configured for.
    public static let ringRange = Duration.seconds(5)...Duration.seconds(600)

    public init() {}
}

/// All limits of the core. ``CoreCounters`` counts how often each was hit.
public struct CoreLimits: Equatable, Sendable {
    public var liveCalls = 200_000
    /// Live calls that one user has placed. Calls to the user do not count: others place them.
    public var liveCallsPerUser = 100
    /// The memory of the calls that one user has placed, live or ended, as ``CallCore`` estimates it. Beyond it the
    /// user's ended calls leave memory first.
    public var callBytesPerUser = 16 << 20
    /// What one user's requests and calls write to disk in a minute: a token bucket of bytes, as the core estimates them.
    public var storedBytesPerUser = 4 << 20
    /// `device.update` requests of one user in a minute.
    public var deviceUpdatesPerUser = 120
    public var legsPerCall = 1_000
    public var devicesPerUser = 16
    public var tokensPerDevice = FrameLimits.pushTokens
    public var sessions = 1_000_000
    /// Events kept for resume until they are acknowledged.
    public var replayEvents = 256
    public var replayBytes = 256 * 1024
    /// Candidates buffered per sending side, for devices that have not been told of the call yet.
    public var bufferedCandidates = 128
    public var bufferedCandidateBytes = 48 * 1024
    /// Events with candidates, to devices at which the calls by one user ring, in a second: a token bucket, which the
    /// largest call with all its legs just fits. What is beyond it is not refused, but waits and goes out together. A
    /// caller trickles some 30 candidates to 15 devices in the first second.
    public var candidateEventsPerCaller = 1_000
    /// The number of consecutive pushes without the required report after which a device is suspended.
    public var unreportedStreak = 3
    /// Pushes to one device in ``CallTimers/pushWindow``: a token bucket that holds this number and refills evenly
    /// within the window. Neither a person nor ten callers together call one phone more than six times in 30 seconds.
    public var pushesPerDevice = 10
    /// The same for calls by one user to one other user that cause a push, in whatever way the call names the other one.
    public var pushingCallsPerPair = 6
    /// The same for all calls by one user that cause a push. A list counts once for each of its users that is pushed, a
    /// group once.
    public var pushingCallsPerCaller = 60
    /// The same for the pushes of all calls by one user: as many as the largest call has legs. Counted separately, as many
    /// pushes about missed calls.
    public var pushesPerCaller = 1_000
    /// Calls by one user that ring at one other at a time: each new session of a device is offered all of them.
    public var ringingCallsPerPair = 10
    /// The same for the calls by all users.
    public var ringingCallsPerCallee = 50
    /// The content of ``ringingCallsPerPair``: `to`, SDP, custom data, and the candidates so far.
    public var ringingPairBytes = 256 * 1024
    /// The content of ``ringingCallsPerCallee``.
    public var ringingCalleeBytes = 512 * 1024
    public var missedPerUser = 100
    /// Pushes about missed calls without an outcome.
    public var notices = 100_000
    /// The same for one device; beyond that a new one replaces the oldest.
    public var noticesPerDevice = 20
    /// Background pushes to a device in ``CallTimers/backgroundWindow``. iOS delivers no more than two or three an
    /// hour.
    public var backgroundPushes = 2
    /// How often one call is forwarded.
    public var forwards = 3
    /// Unregistered handles in call targets, over all live calls.
    public var awaitedHandles = 1_000_000
    /// Inputs that may wait for the store to look something up. As of ``awaitedHandles``, ``notices`` and
    /// ``archivedLegs``, one user has at most a tenth of them, but at least 100.
    public var lookUps = 10_000
    /// Users in memory without a session, a call or a notice. Beyond that those not needed for longest leave memory.
    public var idleUsers = 10_000
    /// Ended calls in memory, for late commands. Beyond that the oldest leave memory before ``CallTimers/tombstone``
    /// has passed, except calls whose end a woken device may not know.
    public var endedCalls = 200_000
    /// Legs in memory of calls restored from the archive.
    public var archivedLegs = 200_000

    public init() {}
}

/// The core's counters since the start.
public struct CoreCounters: Equatable, Sendable {
    public var callsInvited: UInt64 = 0
    public var callsAnswered: UInt64 = 0
    public var callsForwarded: UInt64 = 0
    /// Callers turned away by a user's block list, once for each call and user.
    public var callsBlocked: UInt64 = 0
    public var callsConnected: UInt64 = 0
    /// Indexed by the position of the reason in `EndReason.allCases`.
    public var callsEnded: [UInt64]
    /// Those of one caller among them, by ``BusiestUser``, for `EndReason.ofFaults`.
    public var callsOfOneCaller: [EndReason: UInt64] = [:]
    public var pushesIntended: UInt64 = 0
    /// Pushes restored by a restart.
    public var pushesRecovered: UInt64 = 0
    public var devicesSuspended: UInt64 = 0
    /// Indexed by the position of the cause in `DeviceDropCause.allCases`.
    public private(set) var devicesDropped: [UInt64]
    /// Pushes about missed calls made, and those for which there was no room.
    public var noticesIntended: UInt64 = 0
    public var noticesDropped: UInt64 = 0
    public var sessionsResumed: UInt64 = 0
    public var replayOverflows: UInt64 = 0
    /// Indexed by the position of the limit in `CoreLimit.allCases`.
    public private(set) var limitHits: [UInt64]
    /// Candidates for which there was no room; their senders got an error.
    public var candidatesRefused: UInt64 = 0
    /// Calls looked up in the store.
    public var callsLookedUp: UInt64 = 0
    /// Names of users, aliases and groups looked up in the store.
    public var usersLookedUp: UInt64 = 0
    /// Ended calls that left memory early because of ``CoreLimits/endedCalls``. No request is refused, so this is no
    /// limit hit.
    public var callsLeftToStore: UInt64 = 0

    public init() {
        callsEnded = Array(repeating: 0, count: EndReason.allCases.count)
        limitHits = Array(repeating: 0, count: CoreLimit.allCases.count)
        devicesDropped = Array(repeating: 0, count: DeviceDropCause.allCases.count)
    }

    /// How often any limit was hit.
    public var limitsHit: UInt64 { limitHits.reduce(0, +) }

    /// How often this limit was hit.
    public func hits(of limit: CoreLimit) -> UInt64 { limitHits[Self.position(of: limit)] }

    mutating func dropped(_ cause: DeviceDropCause) {
        // It is a member of `allCases`.
        devicesDropped[DeviceDropCause.allCases.firstIndex(of: cause)!] += 1
    }

    mutating func hit(_ limit: CoreLimit) { limitHits[Self.position(of: limit)] += 1 }

    private static func position(of limit: CoreLimit) -> Int {
        // It is a member of `allCases`.
        CoreLimit.allCases.firstIndex(of: limit)!
    }
}

/// How many events are at most the doing of one user, so that others can be judged without that user: of each quarter of
/// an hour the events of the user with the most, added up. Memory use is bounded.
public struct BusiestUser: Equatable, Sendable {
    public static let period = Duration.seconds(15 * 60)
    /// Users beyond this begin a new period.
    private static let users = 10_000

    public private(set) var total: UInt64 = 0
    private var counts: [Handle: UInt64] = [:]
    private var most: UInt64 = 0
    private var end: Instant?

    public init() {}

    public mutating func add(_ user: Handle, at now: Instant) {
        if counts.count >= Self.users || end.map({ now >= $0 }) ?? true {
            (counts, most, end) = ([:], 0, now + Self.period)
        }
        let count = counts[user, default: 0] + 1
        counts[user] = count
        guard count > most else { return }
        most = count
        total += 1
    }
}

/// Places of a bounded room in which users wait for a backend that others share. A user is doubted after a question that
/// failed or took long, until one is answered in time. Doubted users hold at most half of the places together, however
/// many they are, and more than one each only while they hold less than a quarter. Memory use is bounded.
public struct SharedPlaces: Sendable {
    /// Without a question answered in time a user is doubted for one to two of these.
    public static let doubt = Duration.seconds(120)
    /// Users beyond this begin a new period.
    private static let doubted = 4096

    public private(set) var count = 0
    private var counts: [Handle: Int] = [:]
    /// The doubted, with the times of the last questions that failed or took long.
    private var newer: [Handle: Instant] = [:]
    private var older: [Handle: Instant] = [:]
    private var end: Instant?
    /// The places of doubted users.
    private var ofDoubted = 0

    public init() {}

    public func count(of user: Handle) -> Int { counts[user, default: 0] }
    public func isDoubted(_ user: Handle) -> Bool { lastDoubt(of: user) != nil }
    /// When the last question of a doubted user failed or took long; nil for a user without doubt.
    public func lastDoubt(of user: Handle) -> Instant? { newer[user] ?? older[user] }

    /// Whether the user may take a place of `most`: one within the share, for whom the doubted leave room.
    public func hasRoom(for user: Handle, of most: Int, taken: Int? = nil, share: Int) -> Bool {
        guard isWithinShare(user, of: most, taken: taken, share: share) else { return false }
        guard isDoubted(user) else { return true }
        return ofDoubted < (count(of: user) == 0 ? (most + 1) / 2 : (most + 3) / 4)
    }

    /// Whether the user has fewer than `share` places of `most`, and than are free, whatever the doubted hold.
    /// - Parameter taken: how many are not free; nil counts all that were taken.
    public func isWithinShare(_ user: Handle, of most: Int, taken: Int? = nil, share: Int) -> Bool {
        count(of: user) < min(share, most - (taken ?? count))
    }

    public mutating func take(_ number: Int = 1, of user: Handle, at now: Instant) {
        if end.map({ now >= $0 }) ?? false { beginPeriod(at: now) }
        change(by: number, of: user)
    }

    public mutating func release(_ number: Int = 1, of user: Handle) { change(by: -number, of: user) }

    /// A question of the user failed, or took long.
    public mutating func doubt(_ user: Handle, at now: Instant) {
        if newer.count >= Self.doubted || end.map({ now >= $0 }) ?? true { beginPeriod(at: now) }
        if !isDoubted(user) { ofDoubted += count(of: user) }
        newer[user] = now
    }

    /// A question of the user was answered in time.
    public mutating func trust(_ user: Handle) {
        guard isDoubted(user) else { return }
        newer[user] = nil
        older[user] = nil
        ofDoubted -= count(of: user)
    }

    private mutating func change(by number: Int, of user: Handle) {
        count += number
        if isDoubted(user) { ofDoubted += number }
        let left = count(of: user) + number
        counts[user] = left == 0 ? nil : left
    }

    private mutating func beginPeriod(at now: Instant) {
        // After two periods without a question all are forgotten.
        let isPast = end.map { now >= $0 + Self.doubt } ?? false
        (older, newer, end) = (isPast ? [:] : newer, [:], now + Self.doubt)
        ofDoubted = counts.map { isDoubted($0.key) ? $0.value : 0 }.reduce(0, +)
    }
}
