import CallVocabulary

/// One run of a plan, from the start of its server to its report.
///
/// ```
/// starting ─▶ opening ─▶ ramp ─▶ warm-up ─▶ measuring ─▶ draining ─▶ stopped ─▶ audited
///                 └──────────┴────────┴─── asked to end ─────▲
/// ```
final class LoadRun: Sendable {
    /// How often the progress is told.
    private static let progressInterval = Duration.milliseconds(200)
    /// How often the run checks whether the load is over early.
    private static let watchInterval = Duration.milliseconds(100)
    private static let drainPoll = Duration.milliseconds(10)
    /// Setup fails after this long without progress.
    private static let openingPatience = Duration.seconds(30)
    /// The time for operations under way at the end, besides the hold.
    private static let drainLimit = Duration.seconds(30)
    /// The server counts as gone after this long without a connected phone.
    private static let lossLimit = Duration.seconds(10)
    /// ``drainLimit`` of an interrupted run.
    private static let hurriedDrainLimit = Duration.seconds(5)

    let plan: LoadPlan
    private let stop: StopRequest
    private let progress: @Sendable (LoadProgress) -> Void

    init(plan: LoadPlan, stop: StopRequest, progress: @escaping @Sendable (LoadProgress) -> Void) {
        self.plan = plan.settled
        self.stop = stop
        self.progress = progress
    }

    /// - Throws: ``LoadError`` where nothing can be said of the server at all.
    func run() async throws -> LoadReport {
        try plan.check()
        progress(LoadProgress(phase: .starting, elapsed: .zero))
        let server = try await LoadServer.start(plan)
        defer { server.remove() }
        let outcome: LoadOutcome
        let books: PushBooks?
        do {
            books = plan.needsPushes ? try await server.pushBooks() : nil
            outcome = try await put(server)
        } catch {
            // The end of the server explains the error.
            throw await server.stop().first.map { LoadError("\(error)".clause + "; \($0)") } ?? error
        }
        progress(LoadProgress(phase: .auditing, elapsed: .zero))
        let pushes = await close(books, isQuiet: server.isOwn && !plan.faults && !stop.isRequested)
        let problems = await server.stop()
        var report: LoadReport
        do {
            report = ReportBuilder(outcome).report(audit: try await server.audit())
        } catch {
            report = ReportBuilder(outcome).report(unread: "\(error)")
        }
        report.figures += pushes.figures
        report.violations += pushes.violations
        if let unread = pushes.unread { report.fail(unread) }
        if outcome.lostServer {
            report.fail("the server could not be reached for \(Self.lossLimit), and the run ended")
        }
        for problem in problems { report.fail(problem) }
        return report
    }

    /// - Returns: with the reason if the push provider could not be read.
    private func close(
        _ books: PushBooks?, isQuiet: Bool
    ) async -> (figures: [Figure], violations: [String], unread: String?) {
        do {
            let (figures, violations) = try await books?.close(isQuiet: isQuiet) ?? ([], [])
            return (figures, violations, nil)
        } catch {
            return ([], [], "the push provider's counts could not be read: \(error)")
        }
    }

    /// Puts the load on `server`.
    private func put(_ server: LoadServer) async throws -> LoadOutcome {
        var outcome = LoadOutcome(plan)
        outcome.ready = await .take(server)
        outcome.localPorts = LocalPorts.count
        outcome.fileSystem = server.fileSystem
        outcome.serverStart = server.startTime
        let threads = try await PhoneThreads(plan: plan, server: server)
        do {
            try await open(threads)
            outcome = try await put(threads, server, outcome)
        } catch {
            // Phones keep themselves online until they are told.
            await threads.abort()
            throw error
        }
        return outcome
    }

    private func put(
        _ threads: PhoneThreads, _ server: LoadServer, _ soFar: LoadOutcome
    ) async throws -> LoadOutcome {
        var outcome = soFar
        outcome.sessionsOpened = threads.counters.sessions
        outcome.opened = await .take(server)
        if !stop.isRequested {
            try await load(threads, server, &outcome)
            await drain(threads, server)
            if plan.scenario == .register { await hold(threads, server) }
            // Before anything else: phones may come back.
            outcome.lostServer = outcome.lostServer || isLost(threads)
        }
        outcome.over = await .take(server)
        outcome.wasStopped = stop.isRequested
        let isGone = outcome.lostServer || !server.isRunning
        outcome.underWayMost = threads.counters.mostUnderWay
        outcome.add(await threads.finish(outcome.wasStopped ? .asked : isGone ? .serverGone : .patience))
        return outcome
    }

    private func open(_ threads: PhoneThreads) async throws {
        let ticker = Task { try await watchOpening(threads) }
        do {
            try await threads.prepare()
            ticker.cancel()
        } catch {
            ticker.cancel()
            // Says why, if it was the one who gave it up.
            try await ticker.value
            guard !stop.isRequested else { return }
            throw error
        }
    }

    /// Reports progress, and aborts the setup when the run is interrupted or the setup makes no progress.
    private func watchOpening(_ threads: PhoneThreads) async throws {
        let counters = threads.counters
        let began = ContinuousClock.now
        var (done, moved) = (counters.settled, began)
        while !Task.isCancelled {
            if stop.isRequested { return await threads.abort() }
            let (now, soFar) = (ContinuousClock.now, counters.settled)
            if soFar != done { (done, moved) = (soFar, now) }
            guard moved.duration(to: now) < Self.openingPatience else {
                await threads.abort()
                throw LoadError(
                    "nothing more was opened for \(Self.openingPatience): \(done) of \(counters.expected) phones are "
                        + "ready"
                )
            }
            progress(LoadProgress(phase: .opening(done, of: counters.expected), elapsed: began.duration(to: now)))
            try? await Task.sleep(for: Self.progressInterval)
        }
    }

    /// From the first operation to the end of the measured part.
    private func load(_ threads: PhoneThreads, _ server: LoadServer, _ outcome: inout LoadOutcome) async throws {
        var schedule = LoadSchedule(plan, start: .now)
        outcome.schedule = schedule
        outcome.take(schedule.start, server.usage())
        if schedule.warmUpEnd == schedule.start { outcome.began = outcome.opened }
        try await threads.begin(schedule)
        let disturbance = Task { await server.disturb() }
        var tick = schedule.start
        var began: Task<RunMoment, Never>?
        while let next = schedule.nextTick(after: tick) {
            if let cut = await wait(until: next, threads, server) {
                schedule.cut(at: cut.at)
                outcome.lostServer = cut.isLost
            }
            tick = min(next, schedule.end)
            outcome.schedule = schedule
            outcome.take(tick, server.usage())
            server.trimLogs()
            // The answer may take its time, and the next ticks are not to wait for it.
            if tick == schedule.warmUpEnd { began = Task { await .take(server) } }
            outcome.add(seconds: await threads.takeSeconds())
            progress(outcome.progress(failures: await threads.failures()))
        }
        disturbance.cancel()
        await threads.stopBeginning(end: schedule.end)
        // Operations under way need a home.
        await disturbance.value
        outcome.kills = server.kills
        if let began { outcome.began = await began.value }
        outcome.ended = await .take(server)
        outcome.add(seconds: await threads.takeSeconds())
    }

    /// The early end of a load: nothing more to begin, the server is gone, or the run was interrupted.
    private struct Cut {
        let at: ContinuousClock.Instant
        /// Because no phone could reach the server.
        var isLost = false
    }

    /// Waits until `instant`.
    /// - Returns: where the load ends before.
    private func wait(
        until instant: ContinuousClock.Instant, _ threads: PhoneThreads, _ server: LoadServer
    ) async -> Cut? {
        while ContinuousClock.now < instant {
            await stop.sleep(until: min(instant, .now + Self.watchInterval))
            if let done = await threads.doneAt() { return Cut(at: done) }
            if isLost(threads) { return Cut(at: .now, isLost: true) }
            if stop.isRequested || !server.isRunning { return Cut(at: .now) }
        }
        return nil
    }

    /// Keeps the sessions that were opened.
    private func hold(_ threads: PhoneThreads, _ server: LoadServer) async {
        let began = ContinuousClock.now
        let end = began + plan.hold
        while ContinuousClock.now < end, !isGone(server, threads), !stop.isRequested {
            var held = LoadProgress(phase: .holding, elapsed: began.duration(to: .now), of: plan.hold)
            held.failures = await threads.failures()
            progress(held)
            await stop.sleep(until: min(end, .now + Self.progressInterval))
        }
    }

    private func isGone(_ server: LoadServer, _ threads: PhoneThreads) -> Bool {
        !server.isRunning || isLost(threads)
    }

    private func isLost(_ threads: PhoneThreads) -> Bool { threads.counters.noneConnected() >= Self.lossLimit }

    private var drainLimit: Duration { stop.isRequested ? Self.hurriedDrainLimit : Self.drainLimit + plan.hold }

    private func drain(_ threads: PhoneThreads, _ server: LoadServer) async {
        let began = ContinuousClock.now
        var told = began - Self.progressInterval
        var isHurried = false
        // The limit is shorter once the run is asked to end.
        while began.duration(to: .now) < drainLimit, !isGone(server, threads) {
            let underWay = await threads.underWay()
            if underWay == 0 { return }
            if stop.isRequested, !isHurried {
                isHurried = true
                await threads.endHeld()
            }
            if told.duration(to: .now) >= Self.progressInterval {
                told = .now
                var drained = LoadProgress(phase: .draining, elapsed: began.duration(to: .now))
                drained.underWay = underWay
                drained.failures = await threads.failures()
                progress(drained)
            }
            await StopRequest.pause(Self.drainPoll)
        }
    }
}
