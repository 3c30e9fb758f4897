import AdminProtocol
import CallVocabulary

extension ServerFacts {
    /// All problems of the server, the worst first; empty when it is well.
    public var problems: [ServerProblem] {
        var found = storeProblems
        found += coreProblems
        found += pools.flatMap { pushProblems($0) }
        found += pushFailures
        found += certificates.flatMap { certificateProblems($0) }
        found += authorizationProblems
        found += identityProblems
        found += fileProblems
        if hasRefusedReload { found.append(.refusedReload) }
        found += webhooks.compactMap { webhookProblem($0) }
        found += loadProblems
        found += callProblems
        found += machineProblems
        found += adminProblems
        return ServerProblem.sorted(found)
    }

    /// Whether the server is ready: whether new calls can be made, and wake the phones.
    public static func isReady(_ problems: [ServerProblem]) -> Bool { !problems.contains(where: \.isUnready) }

    // MARK: Store and core

    private var storeProblems: [ServerProblem] {
        var found: [ServerProblem] = []
        if let failure = store.failure {
            found.append(ServerProblem(.storeFailing, isUnready: true, ofStore(failure)))
        } else {
            if !store.isLeaseHeld {
                found.append(
                    ServerProblem(
                        .noHome, isUnready: true,
                        "store: the lease has run out; another server may be the realm's home"))
            }
            if let hangs = storeHangs { found.append(hangs) }
            let failures = grown(.storeFailures, over: .seconds(300))
            if failures > 3 {
                found.append(
                    ServerProblem(
                        .storeFailing, "store: \(failures) commits failed in 5 minutes and were repeated; see the log"))
            }
        }
        if let damage = store.damage {
            found.append(ServerProblem(.storeDamaged, isUnready: true, ofStore(damage)))
        }
        if let failure = store.checkpointFailure {
            found.append(
                ServerProblem(
                    .checkpointsFail,
                    "store: the write-ahead log cannot be merged into its database (\(failure.clause)): it grows until the disk is full; check the disk"
                ))
        }
        if let linked = store.linked {
            found.append(
                ServerProblem(
                    .storeLinked,
                    "store: \(linked): the next start is refused; remove the other name (copy with reveille backup)"))
        }
        if store.standbys == 0 {
            found.append(
                ServerProblem(
                    .noStandby,
                    "realm: no server stands by: the loss of this one stops all calls; start the second node"))
        }
        return found + slowStoreProblems
    }

    /// A commit that does not return, or several that did so late.
    private var storeHangs: ServerProblem? {
        if let waits = store.commitWaits, waits > Self.longestCommit {
            return ServerProblem(
                .storeHangs, isUnready: true,
                "store: a commit has waited for \(seconds(waits)) s: the \(store.storage) does not answer")
        }
        let hung = grown(.hungCommits, over: Self.hangsCount)
        guard hung > 1 else { return nil }
        return ServerProblem(
            .storeHangs,
            "store: \(hung) commits of the last minute took longer than \(seconds(Self.longestCommit)) s each: the \(store.storage) hangs again and again; find out why (dmesg, iostat -x 1)"
        )
    }

    /// A failure of the store, which mostly names it.
    private func ofStore(_ failure: String) -> String {
        (failure.hasPrefix("store ") ? failure : "store: \(failure)").clause
    }

    private var slowStoreProblems: [ServerProblem] {
        let growth = history.growth(to: counts, over: .seconds(300), at: now).counts
        let (slow, all) = (growth[.slowCommits] ?? 0, growth[.commits] ?? 0)
        var reasons: [String] = []
        if all > 0, slow * 100 > all { reasons.append("one commit in a hundred takes more than 250 ms") }
        if store.behind > Self.longestBehind { reasons.append("the tables are \(seconds(store.behind)) s behind") }
        for queue in queues where queue.name == "commits" || queue.name == "store" {
            if isHalfFull(queue) { reasons.append("queue \(text(queue))") }
        }
        guard !reasons.isEmpty else { return [] }
        return [
            ServerProblem(
                .storeBehind,
                "store: slow: \(reasons.joined(separator: ", ")); find other users of the \(store.storage) (iostat -x 1)"
            )
        ]
    }

    private var coreProblems: [ServerProblem] {
        guard let core else { return [ServerProblem(.coreStopped, isUnready: true, "core: not running")] }
        var found: [ServerProblem] = []
        if core.isDraining {
            found.append(ServerProblem(.draining, isUnready: true, "draining: this server takes no new calls"))
        }
        found += core.violations.map { ServerProblem(.ledgerViolated, of: $0, isUnready: true, "ledger: \($0)") }
        let missing = count([.unreported, .reportFailed], in: core)
        let known = count(
            [.unreported, .reportFailed, .reported, .reportedLate, .acted, .notRequired, .filtered], in: core)
        if missing * 5 > known, core.reports.values.reduce(0, +) > 5 {
            found.append(
                ServerProblem(
                    .pushesUnreported,
                    "pushes: phones did not report \(missing) of \(known): compare app versions with reveille devices list"
                ))
        }
        let suspended = grown(.devicesSuspended, over: CountHistory.span)
        if suspended > 0 {
            found.append(
                ServerProblem(
                    .devicesSuspended,
                    "devices: \(suspended) suspended in 15 minutes, because VoIP pushes were left unreported; see reveille devices list --suspended"
                ))
        }
        return found
    }

    private func count(_ statuses: [ReportStatus], in core: Core) -> Int {
        statuses.reduce(0) { $0 + (core.reports[$1] ?? 0) }
    }

    // MARK: Pushes and certificates

    private func pushProblems(_ pool: Pool) -> [ServerProblem] {
        var found = pool.lines.compactMap { queueProblem($0, of: pool) }
        // Devices choose the addresses of Web Push, and with them what is refused.
        let isOurs = !pool.isOfDevices
        if let words = pool.credential {
            found.append(
                ServerProblem(
                    .credentialRefused, of: pool.name, isUnready: isOurs, topics: pool.topics,
                    "push: \(pool.name) \(words)"))
        }
        // A suspect topic alone does not make the server unready: a client may have invented it.
        let isUnready = isOurs && pool.allRefusedFor.map { $0 < Self.refusalsCount } ?? false
        found += pool.suspects.map {
            ServerProblem(
                .tokensRefused, of: pool.name, isUnready: isUnready, topics: [$0.topic],
                "push: \(pool.name) \($0.words)")
        }
        guard let end = pool.certificateEnds else { return found }
        if end <= date {
            found.append(
                ServerProblem(
                    .certificateExpired, of: pool.name, isUnready: true, topics: pool.topics,
                    "push: \(pool.name): the certificate has expired on \(day(end)): APNs takes nothing until it is replaced"
                ))
        } else if end - date < Self.pushWarning {
            found.append(
                ServerProblem(
                    end - date < Self.lastDay ? .certificateEnds : .certificateExpiring, of: pool.name,
                    topics: pool.topics,
                    "push: \(pool.name): the certificate expires on \(day(end)): order the next one"))
        }
        return found
    }

    /// A problem lasts longer than the pushes that have it: a call rings for less than a minute, and people are alarmed
    /// after one.
    private func queueProblem(_ line: Pool.Line, of pool: Pool) -> ServerProblem? {
        let wait = line.waiting > 0 ? line.oldest ?? .zero : .zero
        func isWithin(_ span: Duration, _ age: Duration?) -> Bool { age.map { $0 < span } ?? false }
        if line.connections == 0, wait > Self.longestHandshake || isWithin(Self.refusalsCount, line.cutOffFor) {
            let cause = line.failure.map { " (\($0.printable(upTo: 200)))" } ?? ""
            return ServerProblem(
                .pushDisconnected, of: line.name,
                isUnready: wait > Self.longestHandshake || isWithin(Self.pushesCount, line.cutOffFor),
                topics: pool.topics,
                "push: no connection to \(line.name)\(cause), \(line.waiting) waiting: no sleeping phone is woken; check network, DNS and firewall (ports 443 and 2197)"
            )
        }
        guard wait > Self.longestWait || isWithin(Self.refusalsCount, line.overdueFor) else { return nil }
        return ServerProblem(
            .pushQueueOld, of: line.name,
            // Devices choose the addresses of Web Push, and may choose some for whose quota their pushes wait.
            isUnready: !pool.isOfDevices && (wait > Self.longestWait || isWithin(Self.pushesCount, line.overdueFor)),
            topics: pool.topics,
            "push: pushes wait longer than \(seconds(Self.longestWait)) s for \(line.name), \(line.waiting) now, the oldest for \(seconds(wait)) s; see the provider's status page and reveille pushes list"
        )
    }

    /// Pushes that end without a problem of the connection or the credential: with server errors, without answers, by an
    /// account's quota. None waits then. It is mended once many in a row have ended otherwise.
    private var pushFailures: [ServerProblem] {
        let growth = history.growth(to: counts, over: Self.refusalsCount, at: now).counts
        let found = growth.compactMap { counter, failed -> ServerProblem? in
            guard case .pushesFailed(let pool) = counter, failed > 2 else { return nil }
            let ended = growth[.pushesEnded(pool)] ?? failed
            let since = history.growth(of: .pushesEnded(pool), to: counts, since: counter)
            guard failed * 5 > ended, since < Self.answersToTrust else { return nil }
            let isOfDevices = pools.contains { $0.name == pool && $0.isOfDevices }
            let areAll = failed == ended && grown(counter, over: Self.pushesCount) > 0
            return ServerProblem(
                .pushesFailing, of: pool, isUnready: areAll && !isOfDevices,
                "push: \(failed) of \(ended) pushes to \(pool) failed in 10 minutes, and no device is at fault; see reveille pushes list"
            )
        }
        return found.sorted { ($0.subject ?? "") < ($1.subject ?? "") }
    }

    private func certificateProblems(_ certificate: Certificate) -> [ServerProblem] {
        let (listener, end, isOfAuthorities) = (certificate.listener, certificate.ends, certificate.isOfAuthorities)
        let place = isOfAuthorities ? listener : "the \(listener) listener"
        guard end > date else {
            let others = isOfAuthorities ? "its administrators" : listener == "signal" ? "clients" : "they"
            return [
                ServerProblem(
                    .certificateExpired, of: listener, isUnready: listener == "signal",
                    "\(place): \(certificate.name) has expired on \(day(end)): \(others) cannot connect; "
                        + (isOfAuthorities ? "renew or remove it and restart" : "renew it and reload"))
            ]
        }
        guard end - date < Self.listenerWarning else { return [] }
        return [
            ServerProblem(
                end - date < Self.lastDay ? .certificateEnds : .listenerCertificateExpiring, of: listener,
                "\(place): \(certificate.name) expires on \(day(end)): renew it and "
                    + (isOfAuthorities ? "restart" : "reload"))
        ]
    }

    // MARK: Backends and secrets

    private var authorizationProblems: [ServerProblem] {
        unansweredQuestions + questionsInVain + refusedQuestions + questionFailures
    }

    private var unansweredQuestions: [ServerProblem] {
        authorization.unanswered.sorted { $0.key < $1.key }.map { question, age in
            ServerProblem(
                .authorizationDown, of: question, isUnready: authorization.isDenying && age < Self.refusalsCount,
                "authorization: the backend at authorize.url does not answer: \(outcome(of: question)); repair it, the log has the reason"
            )
        }
    }

    private func outcome(of question: String) -> String {
        authorization.isDenying
            ? "every new \(question == "invite" ? "call" : "session") is refused (authorize.on_failure)"
            : "new \(question == "invite" ? "calls" : "sessions") go on unasked (authorize.on_failure)"
    }

    /// Failures of too few users to open the circuit: where one user calls, they are those of all. The server stays
    /// ready, because a user's calls may be such that the backend fails.
    private var questionsInVain: [ServerProblem] {
        authorization.inVain.filter { authorization.unanswered[$0.key] == nil }.sorted { $0.key < $1.key }
            .map { question, number in
                ServerProblem(
                    .authorizationFailing, of: question,
                    "authorization: the last \(number) questions about a new \(question == "invite" ? "call" : "session") had no valid answer from authorize.url: \(outcome(of: question)); the log has the reason"
                )
            }
    }

    /// A 4xx is a decision, so that the server stays ready. Failures since then are what the backend does now.
    private var refusedQuestions: [ServerProblem] {
        let others = authorization.refusing.filter {
            authorization.unanswered[$0.key] == nil && authorization.inVain[$0.key] == nil
        }
        return others.sorted { $0.key < $1.key }.map { question, status in
            ServerProblem(
                .authorizationFailing, of: question,
                "authorization: the backend at authorize.url refuses every new \(question == "invite" ? "call" : "session") with the status \(status), without a JSON object; check the URL"
            )
        }
    }

    /// Answers between failures, as where one of two backends behind an address is down. It is mended once many are
    /// answered in a row.
    private var questionFailures: [ServerProblem] {
        guard authorization.unanswered.isEmpty, authorization.inVain.isEmpty,
            authorization.answersInARow < Self.answersToTrust
        else { return [] }
        let growth = history.growth(to: counts, over: CountHistory.span, at: now).counts
        let (asked, failed) = (growth[.authorizationsAsked] ?? 0, growth[.authorizationsFailed] ?? 0)
        guard isShare(failed, of: asked, without: growth[.authorizationsOfOneUser] ?? 0) else { return [] }
        let outcome = authorization.isDenying ? "refused" : "allowed"
        return [
            ServerProblem(
                .authorizationFailing,
                "authorization: \(failed) of \(asked) questions to authorize.url had no valid answer in 15 minutes, and were \(outcome) (authorize.on_failure); the log has the reason"
            )
        ]
    }

    private var identityProblems: [ServerProblem] {
        guard let identity, identity.failures > 0 else { return [] }
        guard identity.hasKeys else {
            return [
                ServerProblem(
                    .identityKeysAbsent, isUnready: true,
                    "tokens: there are no keys of the identity provider: its users open no sessions; the log says why they cannot be fetched"
                )
            ]
        }
        guard let overdue = identity.overdue else { return [] }
        return [
            ServerProblem(
                .identityKeysOld,
                "tokens: the identity provider's keys are \(seconds(overdue) / 60) minutes past their age, and end after a day; the log says why they cannot be fetched"
            )
        ]
    }

    private var fileProblems: [ServerProblem] {
        missingFiles.map { setting, path in
            ServerProblem(
                .filesMissing, of: setting,
                "\(setting): \(path) is missing, empty or unreadable: the next start fails, or does without it; put it back from a backup"
            )
        }
    }

    private var adminProblems: [ServerProblem] {
        guard let missingAdminSocket else { return [] }
        return [
            ServerProblem(
                .adminSocketMissing,
                "admin: the socket \(missingAdminSocket) was removed: no command on this machine reaches the server; restart it"
            )
        ]
    }

    private func webhookProblem(_ webhook: WebhookView) -> ServerProblem? {
        let (name, failure) = (webhook.name, webhook.lastFailure.map { ": \($0)" } ?? "")
        if webhook.state != .active {
            return ServerProblem(
                .webhookFailing, of: name,
                "webhook \(name) is \(webhook.state.rawValue), backlog \(webhook.backlog)\(failure); when it is mended, reveille webhooks resume \(name)"
            )
        }
        guard let oldest = webhook.oldestAt.map({ date - $0.instant }), oldest > Self.oldestEvent else { return nil }
        return ServerProblem(
            .webhookBacklog, of: name,
            "webhook \(name) is slow, backlog \(webhook.backlog), the oldest event waits for \(seconds(oldest)) s\(failure); see reveille webhooks show \(name)"
        )
    }

    // MARK: Helpers

    func grown(_ counter: CountHistory.Counter, over window: Duration) -> UInt64 {
        history.growth(to: counts, over: window, at: now).counts[counter] ?? 0
    }

    /// Whether more than a fifth of more than 20 events failed.
    /// - Parameter own: the failures of one user, who may have caused them. The others decide.
    func isShare(_ failed: UInt64, of all: UInt64, without own: UInt64) -> Bool {
        let own = min(own, failed, all)
        return all - own > 20 && (failed - own) * 5 > all - own
    }

    func isHalfFull(_ queue: StatsView.Queue) -> Bool {
        queue.capacity.map { $0 > 0 && queue.depth * 2 > $0 } ?? false
    }

    func text(_ queue: StatsView.Queue) -> String { "\(queue.name) \(queue.depth)/\(queue.capacity ?? 0)" }

    func seconds(_ duration: Duration) -> Int64 { duration.wholeMilliseconds / 1000 }

    /// `2027-01-15`; `2027-01-15 09:30 UTC` within two days of it.
    private func day(_ instant: Instant) -> String {
        let text = Timestamp(instant).rfc3339
        let isNear = max(instant - date, date - instant) < Self.lastDay * 2
        return isNear ? "\(text.prefix(10)) \(text.dropFirst(11).prefix(5)) UTC" : String(text.prefix(10))
    }
}

extension ServerProblem {
    /// The settings of the last reload were refused, by the home or a standby.
    package static let refusedReload = ServerProblem(
        .reloadRefused,
        "settings: the last reload was refused, and the earlier settings still apply; a restart would fail: see reveille config check, then reload"
    )
}
