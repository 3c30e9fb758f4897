import CallCore
import CallVocabulary
import Determinism
import PushCore

/// The probability of each fault and action in one run, in thousandths. Drawn anew for each seed ("swarm testing",
/// Groce et al. 2012). Some runs have no faults, some many, and most only a few kinds, so that one fault does not mask
/// another.
struct Odds {
    // Sockets.
    var stall = 0
    var cut = 0
    var halfOpen = 0
    var lostAnswer = 0
    // Processes.
    var crash = 0
    var stop = 0
    var drain = 0
    var lateLoop = 0
    var clockJump = 0
    var clockBack = 0
    // The store.
    var slowCommit = 0
    /// That the tables lack the records of a commit for a while.
    var lag = 0
    var failedSearch = 0
    var slowSearch = 0
    /// Whether the listing of stored calls is fast, late or missing.
    var listing = 0
    // Pushes.
    var refusal = 0
    var deadToken = 0
    var stallAnswer = 0
    var refusedStream = 0
    var lostStream = 0
    var goAway = 0
    var lowerLimit = 0
    var lostConnection = 0
    var blackHole = 0
    var refusedConnection = 0
    var outage = 0
    var failedSigning = 0
    var undelivered = 0
    var lateDelivery = 0
    var doubleDelivery = 0
    // Phones.
    var deaf = 0
    /// A phone that gets no pushes during the whole run, and whose owner seldom opens the app.
    var silent = 0
    var lateReport = 0
    var wakeOpen = 0
    var native = 0
    var noAck = 0
    var noMedia = 0
    var stray = 0
    var reuse = 0
    var glare = 0
    var background = 0
    var impatience = 0
    var updates = 0
    var theft = 0
    var admin = 0
    /// That a backend acts.
    var backend = 0

    var timers = CallTimers()
    var limits = CoreLimits()
    /// The policy of users without their own.
    var userPolicy = UserPolicy()
    var policy = PushPolicy()
    /// nil: one process, without a realm.
    var realm: RealmOdds?
    /// nil: no backend authorizes invites or sessions.
    var authorization: AuthorizationPolicy?

    /// - Parameter isRealm: whether the run is one of a realm, whatever the seed.
    init(random: inout SeededGenerator, isRealm: Bool) {
        let terror = Int.random(in: 0...3, using: &random)
        /// 0 in all calm runs and a third of the others, else up to `most`.
        func draw(_ most: Int) -> Int {
            let isOff = Int.random(in: 0..<3, using: &random) == 0
            let value = Int.random(in: 1...most, using: &random)
            return isOff || terror == 0 ? 0 : max(1, value * terror / 3)
        }
        drawFaults(draw)
        deaf = draw(200)
        silent = draw(800)
        theft = draw(150)
        lateReport = draw(250)
        lateDelivery = draw(250)
        doubleDelivery = draw(60)
        undelivered = draw(250)
        noAck = draw(800)
        noMedia = draw(300)
        // Not faults, so calm runs have them too.
        wakeOpen = Int.random(in: 0...900, using: &random)
        native = Int.random(in: 0...700, using: &random)
        stray = Int.random(in: 0...300, using: &random)
        reuse = Int.random(in: 0...150, using: &random)
        glare = Int.random(in: 0...300, using: &random)
        background = Int.random(in: 0...200, using: &random)
        impatience = Int.random(in: 0...400, using: &random)
        updates = Int.random(in: 0...500, using: &random)
        admin = Int.random(in: 0...150, using: &random)
        listing = Int.random(in: 0...2, using: &random)
        drawSizes(&random)
        // From a generator of its own: the other runs stay as they are without a realm.
        var own = random
        var other = SeededGenerator(seed: own.next() ^ 0x7265_616C_6D)
        realm = RealmOdds(&other, isCalm: terror == 0, isCertain: isRealm)
    }

    private mutating func drawFaults(_ draw: (Int) -> Int) {
        stall = draw(20)
        cut = draw(150)
        halfOpen = draw(600)
        lostAnswer = draw(300)
        crash = draw(60)
        stop = draw(40)
        drain = draw(30)
        lateLoop = draw(100)
        clockJump = draw(30)
        clockBack = draw(100)
        slowCommit = draw(200)
        lag = draw(900)
        failedSearch = draw(200)
        slowSearch = draw(300)
        refusal = draw(300)
        deadToken = draw(300)
        stallAnswer = draw(120)
        refusedStream = draw(120)
        lostStream = draw(100)
        goAway = draw(100)
        lowerLimit = draw(150)
        lostConnection = draw(100)
        blackHole = draw(60)
        refusedConnection = draw(300)
        outage = draw(150)
        failedSigning = draw(200)
    }

    private mutating func drawSizes(_ random: inout SeededGenerator) {
        userPolicy.missedCalls =
            MissedCallPush.allCases[Int.random(in: 0..<MissedCallPush.allCases.count, using: &random)]
        // Short enough to expire within a run.
        timers.notice = .seconds(Int.random(in: 40...240, using: &random))
        timers.backgroundWindow = timers.notice
        timers.probePauses = [.seconds(15), .seconds(40), .seconds(90)]
        if Int.random(in: 0..<4, using: &random) == 0 {
            timers.longestCall = .seconds(Int.random(in: 2...30, using: &random))
        }
        timers.tombstone = .seconds(Int.random(in: 0..<3, using: &random) == 0 ? 120 : 15)
        if Bool.random(using: &random) { limits.replayEvents = Int.random(in: 4...16, using: &random) }
        if Int.random(in: 0..<3, using: &random) == 0 { limits.endedCalls = Int.random(in: 1...4, using: &random) }
        if Int.random(in: 0..<4, using: &random) == 0 {
            limits.pushesPerDevice = Int.random(in: 1...4, using: &random)
            limits.pushingCallsPerPair = Int.random(in: 1...3, using: &random)
            limits.pushingCallsPerCaller = Int.random(in: 2...6, using: &random)
            // From a copy: the other runs stay as they are.
            var own = random
            limits.pushesPerCaller = Int.random(in: 3...8, using: &own)
            limits.deviceUpdatesPerUser = Int.random(in: 1...4, using: &own)
            // A call to a few devices takes some 10 kB of each.
            limits.storedBytesPerUser = Int.random(in: 20_000...100_000, using: &own)
            limits.callBytesPerUser = Int.random(in: 20_000...60_000, using: &own)
            limits.candidateEventsPerCaller = Int.random(in: 1...3, using: &own)
        }
        // Short enough that all devices are dropped once their phones stay away.
        if Int.random(in: 0..<6, using: &random) == 0 {
            timers.deviceAge = .seconds(Int.random(in: 40...240, using: &random))
        }
        if Int.random(in: 0..<6, using: &random) == 0 { limits.devicesPerUser = Int.random(in: 1...3, using: &random) }
        policy.connections = Int.random(in: 2...3, using: &random)
        policy.streamsPerConnection = Int.random(in: 1...8, using: &random)
        if Int.random(in: 0..<8, using: &random) == 0 { policy.queueCapacity = 2 }
        // Short enough to close again within a run.
        policy.circuitBackoff = Backoff.Limits(base: .seconds(5), cap: .seconds(20))
        if Bool.random(using: &random) { limits.idleUsers = Int.random(in: 1...3, using: &random) }
        // From a copy: the other runs stay as they are without a backend.
        var own = random
        if Int.random(in: 0..<3, using: &own) == 0 { backend = 400 }
        if Int.random(in: 0..<5, using: &own) == 0 {
            var asking = AuthorizationPolicy()
            asking.allowsOnFailure = Bool.random(using: &own)
            asking.includesSessions = Bool.random(using: &own)
            if Bool.random(using: &own) { asking.mostWaiting = Int.random(in: 1...3, using: &own) }
            authorization = asking
        }
    }

    /// Stops all faults; the actions of users continue.
    mutating func heal() {
        drawFaults { _ in 0 }
        deaf = 0
        silent = 0
        theft = 0
        lateReport = 0
        lateDelivery = 0
        doubleDelivery = 0
        undelivered = 0
        noAck = 0
        noMedia = 0
        stray = 0
        reuse = 0
        glare = 0
        realm?.heal()
        admin = 0
        listing = 0
    }
}
