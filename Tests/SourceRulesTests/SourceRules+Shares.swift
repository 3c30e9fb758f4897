import Foundation

/// What bounds a queue, a window, a table or a pool, and its row in the table of shares.
extension SourceRules {
    /// The targets of which a server consists. `CallMonitor` is not among them: it shows, and refuses nobody.
    private static let serverTargets = [
        "AdminServer", "CallCore", "CallServer", "CallStore", "EventLoop", "LibWebSockets", "OutgoingHTTP",
        "PostgresStore", "PushClient", "PushCore", "RecordTables", "ServerLog", "WebSocketServer", "WebhookClient",
    ]

    /// The beginning of the row, by file and constant.
    private static let sharedBounds = [
        "MonitorFeed.standardCapacity": "records that wait for the admin API",
        "AdminService.mostMessages": "records that wait for the admin API",
        "RequestShares.most": "requests over the admin API",
        "RequestShares.mostOfConnection": "requests over the admin API",
        "AdminService.mostConnections": "connections for operators",
        "AdminService.mostWithReaders": "connections for operators",
        "SubscriptionDriver.mostOfReaders": "subscriptions over the admin API",
        "MetricsListener.mostConnections": "connections for operators",
        "Standby.mostConnections": "connections for operators",
        "KnownCalls.mostBytes": "ids of past calls",
        "HistoryPage.mostPagesOfUser": "pages of `call.list`",
        "CallCore+LookUps.mostCallsOfUser": "look-ups in the store",
        "LookUps.mostAtOnce": "look-ups in the store",
        "RemoteKeySet.mostWaiting": "token checks",
        "CallServer.capacity": "messages for the clients of a shard",
        "PageRateLimiter.mostWaiting": "the softphone's pages",
        "CallResources.mostQuestions": "requests over HTTP in progress",
        "BackendResources.mostQuestions": "requests of backends in progress",
        "BackendResources.mostReads": "requests of backends in progress",
        "CoreLoop.inboxCapacity": "the core's queue",
        "RefusalLog.mostKeys": "lines about refused clients",
        "AuthorizationCircuit.mostFailing": "the circuit breaker of the authorization hook",
        "AuthorizationCircuit.mostInFlight": "questions in flight at the hook",
        "AuthorizationCircuit.mostOpen": "questions in flight at the hook",
        "AuthorizationCircuit.mostOfEach": "questions in flight at the hook",
        "AuthorizationCircuit.failuresToOpen": "the circuit breaker of the authorization hook",
        "AuthorizationCircuit.usersToOpen": "the circuit breaker of the authorization hook",
        "AuthorizationCircuit.usersUntilDead": "the circuit breaker of the authorization hook",
        "CallCore+Authorization.mostWaiting": "invites, and apart from them sessions",
        "RecentAnswers.kept": "cached answers of the hook",
        "RecentTokens.kept": "verified tokens in memory",
        "GroupCommitter.defaultCapacity": "what is written to disk",
        "CommitterState.standardCapacity": "what is written to disk",
        "FCMTokenMapper.capacity": "APNs tokens that wait for their FCM tokens",
        "FCMTokenMapper.longestQueue": "APNs tokens that wait for their FCM tokens",
        "FCMTokenMapper.mostProven": "APNs tokens that wait for their FCM tokens",
        "WebPushEndpoint.mostOrigins": "push services with connections",
        "WebPushEndpoint.mostUnproven": "push services below a pattern",
        "PushPolicy.queueCapacity": "pushes that wait for a provider",
        "PushService.mailboxCapacity": "pushes that wait for a provider",
        "PushPolicy.noticeCapacity": "notices of missed calls among them",
        "PushPolicy.connections": "pushes at a provider at a time",
        "PushPolicy.streamsPerConnection": "pushes at a provider at a time",
        "PushPolicy.throttledDevices": "pushes held for a device",
        "PushPolicy.heldPerDevice": "pushes held for a device",
        "PushPolicy.refusalsUntilThrottled": "a provider's quota",
        "QuotaProbes.mostProven": "a provider's quota",
        "PushMachine+Credential.mostRefused": "a Web Push service's credential",
        "CredentialHealth.failuresUntilBad": "a Web Push service's credential",
        "TopicEvidence.mostTopics": "topics whose refused tokens",
        "TopicEvidence.acceptedTokens": "topics whose refused tokens",
        "TopicEvidence.refusalsUntilSuspect": "topics whose refused tokens",
        "TopicEvidence.usersUntilAllRefused": "topics whose refused tokens",
        "LogWriter.capacity": "lines about refused clients",
        "RateLimiter.mostKeys": "tables of rates",
        "RateLimiter.most": "tables of rates",
        "Listener.mailboxCapacity": "connections",
        "ProxyHeaders.mostWaiting": "connections whose proxy",
        "DeliveryQueue.mostInFlight": "attempts to send an event",
        "DeliveryQueue.mostOpen": "attempts to send an event",
        "DeliveryQueue.mostKnown": "whether an endpoint fails",
        "DeliveryQueue.mostHeld": "events of a webhook endpoint",
        "DeliveryQueue.mostBytes": "events of a webhook endpoint",
        "DeliveryQueue.mostBehind": "users with events that wait",
        "DeliveryQueue.failuresUntilProbing": "whether an endpoint fails",
        "DeliveryQueue.usersUntilProbing": "whether an endpoint fails",
        "DeliveryQueue.usersUntilSlower": "whether an endpoint fails",
    ]

    /// Bounds of one call, connection, request, answer, batch or file, and of what no user takes from another.
    private static let ownBounds: Set<String> = [
        "CallSentences.mostNames", "MonitorDriver.mostAdministrators", "SubscriptionDriver.mostPerConnection",
        "AuditEntry.mostTexts", "CallCore+IdleUsers.mostPassedOver",
        "CallCore+Presence.mostRecorded", "PushBounds.most", "CallCore+LookUps.mostAttempts",
        "CoreEffect.mostReserved", "KeySetSchedule.mostSeconds", "RemoteKeySet.mostFormer",
        "SignalShard.mostGathered", "BackendHTTPRequest.mostMembers", "CallResource.mostQueryItems",
        "BackendRoute.mostSegments",
        "CommitWindow.mostInVain", "CallStore.mostEntryBytes", "EventLoop.mostRounds", "Mailbox.mostKept",
        "LWSContext.mostNumbers", "LWSContext.mostBound", "ServerContexts.mostRanges", "HTTPExchange.mostAhead",
        "HTTPExchange.mostRefused", "ProviderConnection.mostGoAways",
        "WebClient.mostIdleEach", "WebClient.mostIdle", "PushPool.mostPreparedFields",
        "PostgresJournal.mostCommits", "LineSheet.mostLines", "LineSheet.mostBytes", "WebhookEndpoint.most",
        "PendingRecords.keptCapacity", "OperationBuffer.keptCapacity", "Session.mostOffers",
        "ConnectionState.refusalsUntilAbuse", "PushPolicy.refusalsUntilReplaced",
    ]

    /// Each bound of a server is one user's own, or has its row in the article about threats, which says what one user's
    /// share is.
    static func shares(_ tree: SourceTree) -> [String] {
        let article = tree.articles.first { $0.path.hasSuffix("/Threats.md") }
        let rows = (article?.lines ?? []).drop { $0 != "## Shares" }.filter { $0.hasPrefix("| ") }
        var found: [String] = []
        var seen: Set<String> = []
        for file in tree.files where serverTargets.contains(where: { file.path.hasPrefix("Sources/\($0)/") }) {
            let name = file.path.split(separator: "/").last.map { $0.dropLast(".swift".count) } ?? ""
            for bound in file.lines.compactMap(boundName) {
                let key = "\(name).\(bound)"
                seen.insert(key)
                guard let row = sharedBounds[key] else {
                    if !ownBounds.contains(key) { found.append("\(key) has no row of shares, and is nobody's own") }
                    continue
                }
                if !rows.contains(where: { $0.hasPrefix("| \(row)") }) { found.append("no row of shares: \(row)") }
            }
        }
        // Only in the whole tree.
        let isWhole = serverTargets.allSatisfy { tree.package.target($0) != nil }
        let gone = isWhole ? ownBounds.union(sharedBounds.keys).subtracting(seen).sorted() : []
        return found + gone.map { "there is no \($0)" }
    }

    private static let boundWords = [
        "most", "apacity", "longestQueue", "Until", "ToOpen", "acceptedTokens", "connections = ",
        "streamsPerConnection", "throttledDevices", "heldPerDevice", "kept: Int = ",
    ]

    /// The name of the bound that the line declares; nil for other lines.
    private static func boundName(_ line: String) -> String? {
        // A regular expression for each line takes a minute in a debug build.
        guard boundWords.contains(where: { line.contains($0) }) else { return nil }
        let shared =
            /\bstatic (?:let|var) (most(?:[A-Z]\w*)?|\w*[cC]apacity|longestQueue|acceptedTokens)\b|\bpublic var (\w+Capacity)\b/
        if let match = line.firstMatch(of: shared) { return String(match.1 ?? match.2 ?? "") }
        // How many failures, or users, decide for all.
        if let match = line.firstMatch(of: /\b(?:let|var) ((?:failures|refusals|users)(?:Until|To)[A-Z]\w*) = [(1-9]/) {
            return String(match.1)
        }
        // Of an instance.
        let own =
            /\b(?:let|var) (most[A-Z]\w*|connections|streamsPerConnection|throttledDevices|heldPerDevice) = [1-9]|\binit\((kept): Int = [1-9]/
        return line.firstMatch(of: own).map { String($0.1 ?? $0.2 ?? "") }
    }
}
