import AdminProtocol
import CallVocabulary

/// Problems of load, of calls and of the machine: what has grown over a time.
extension ServerFacts {
    var loadProblems: [ServerProblem] {
        var found: [ServerProblem] = []
        let refused = grown(.coreRefused, over: .seconds(300))
        let inbox = queues.first { $0.name == "core" }
        if let inbox, refused > 0 || isHalfFull(inbox) {
            found.append(
                ServerProblem(
                    .coreBehind,
                    "overload: queue \(text(inbox)), \(refused) refused in 5 minutes; look at the store, then at the CPU (top -H)"
                ))
        }
        let late = grown(.callsRefused, over: .seconds(300))
        if late > 10 {
            found.append(
                ServerProblem(
                    .coreBehind, of: "calls",
                    "overload: \(late) new calls were refused in 5 minutes, so that others are handled in time; look at the store, then at the CPU (top -H)"
                ))
        }
        found += busyProblems
        let growth = history.growth(to: counts, over: .seconds(600), at: now).counts
        let (evicted, shutOut) = (growth[.connectionsEvicted] ?? 0, growth[.connectionsShutOut] ?? 0)
        if evicted + shutOut > 10 {
            found.append(
                ServerProblem(
                    .connectionsFull,
                    "connections: in 10 minutes \(evicted) without a session were closed to make room, and \(shutOut) were refused for lack of room; raise limits.connections and LimitNOFILE, or add a server"
                ))
        }
        let pauses = grown(.acceptPauses, over: .seconds(300))
        if pauses > 10 || (maxFiles > 0 && openFiles * 10 > maxFiles * 9) {
            let waits = pauses > 10 ? ", and connections had to wait \(pauses) times in 5 minutes" : ""
            found.append(
                ServerProblem(
                    .descriptorsLow,
                    "process: \(openFiles) of \(maxFiles) files are open\(waits); raise LimitNOFILE and restart, or add a server"
                ))
        }
        let limits = growth.compactMap { counter, hits -> (name: String, hits: UInt64)? in
            guard case .limit(let name) = counter, hits > 10 else { return nil }
            return (name, hits)
        }
        found += limits.sorted { $0.name < $1.name }.map { limit in
            ServerProblem(
                .limitsHit, of: limit.name,
                "limit \(limit.name) was hit \(limit.hits) times in 10 minutes; find the client at fault, or raise it")
        }
        return found
    }

    private var busyProblems: [ServerProblem] {
        let (growth, time) = history.growth(to: counts, over: .seconds(300), at: now)
        // A start is busy for a moment.
        guard time >= .seconds(60) else { return [] }
        let busy = growth.compactMap { counter, milliseconds -> (thread: String, share: Double)? in
            guard case .busy(let thread) = counter else { return nil }
            let share = Double(milliseconds) / Double(time.wholeMilliseconds)
            return share > 0.9 ? (thread, share) : nil
        }
        return busy.sorted { $0.thread < $1.thread }.map { thread, share in
            ServerProblem(
                .loopBusy, of: thread,
                "overload: the thread \(thread) is busy \(Int(share * 100)) % of the time; find other users of the CPU (top -H), or add a server"
            )
        }
    }

    var callProblems: [ServerProblem] {
        let growth = history.growth(to: counts, over: CountHistory.span, at: now).counts
        var found: [ServerProblem] = []
        let (asked, refused) = (growth[.sessionsAsked] ?? 0, growth[.sessionsRefused] ?? 0)
        if asked > 20, refused * 2 > asked {
            found.append(
                ServerProblem(
                    .sessionsRefused,
                    "sessions: \(refused) of \(asked) were refused in 15 minutes; the lines \"session refused\" of the log have reason and address"
                ))
        }
        let ended = growth[.callsEnded] ?? 0
        for reason in EndReason.ofFaults {
            let failed = growth[.callsEndedWith(reason)] ?? 0
            guard isShare(failed, of: ended, without: growth[.callsOfOneCaller(reason)] ?? 0) else { continue }
            found.append(
                ServerProblem(
                    .callsFailing, of: reason.rawValue,
                    "calls: \(failed) of \(ended) ended with \(reason.rawValue) in 15 minutes; see reveille calls list --reason \(reason.rawValue)"
                ))
        }
        let recent = history.growth(to: counts, over: .seconds(600), at: now).counts
        let (rings, slow) = (recent[.rings] ?? 0, recent[.slowRings] ?? 0)
        if rings > 20, slow * 100 > rings {
            found.append(
                ServerProblem(
                    .ringingSlow,
                    "calls: \(slow) of \(rings) took more than \(seconds(Self.longestRing)) s to ring in 10 minutes; reveille stats has the stages"
                ))
        }
        return found
    }

    var machineProblems: [ServerProblem] {
        let growth = history.growth(to: counts, over: CountHistory.span, at: now).counts
        let dropped = growth[.logLinesDropped] ?? 0
        var found: [ServerProblem] = []
        if (growth[.clockSteps] ?? 0) > 0 {
            found.append(
                ServerProblem(
                    .clockSet,
                    "clock: the system clock was set in the last 15 minutes; look at the time service (chronyc tracking, timedatectl)"
                ))
        }
        if (growth[.suspensions] ?? 0) > 0 {
            found.append(
                ServerProblem(
                    .machineSuspended,
                    "clock: the machine was suspended in the last 15 minutes; calls whose deadline passed have ended; keep it from sleeping"
                ))
        }
        if dropped > 0 {
            let lost = "log: \(dropped) lines were dropped in 15 minutes"
            let words =
                logFailure.map { "\(lost): the log cannot be written: \($0); see to its reader and its disk" }
                ?? "\(lost); its reader was too slow, or the log could not be written for a time"
            found.append(ServerProblem(.logLinesDropped, words))
        }
        return found
    }
}
