import AdminProtocol
import CallMonitor
import CallVocabulary
import EventLoop
import Foundation
import LibWebSockets
import StoreInterface
import Testing

@testable import AdminServer
@testable import CallCore
@testable import CallEvents
@testable import CallServer
@testable import ClientTokens
@testable import PostgresStore
@testable import PushClient
@testable import PushCore
@testable import RecordTables
@testable import ServerLog
@testable import SignalProtocol
@testable import SoftphoneSession
@testable import WebPages
@testable import WebSocketServer
@testable import WebhookClient
@testable import WireJSON

/// The numbers of the articles that promise limits are those of the code.
///
/// Each number of an article stands in one of the passages below: with the code's value, or as a number that is no
/// limit. A new number in an article fails the test until it stands here.
@Suite("Numbers in articles")
struct DocumentedNumbersTests {
    private static let core = CoreLimits()
    private static let timers = CallTimers()
    private static let connection = ConnectionLimits()
    private static let push = PushPolicy()
    private static let retention = RetentionPolicy()
    private static let session = ClientSession.Configuration(
        device: DeviceDescription(id: DeviceID(high: 0, low: 0), platform: .cli))
    /// Those of 56 and 48 bits around an IPv6 address.
    private static let wide = PeerAddress(numeric: "2001:db8::1")?.widerNetworks ?? []
    private static let listener = ServerConfiguration(address: .anyPort, data: DataFolder(path: "/nowhere")).listener

    struct Passages: CustomTestStringConvertible, Sendable {
        let article: String
        /// Have the code's values.
        let limits: String
        /// Have numbers that are no limits of the server: names of standards, statuses, examples.
        let others: String
        var testDescription: String { article }
    }

    static let wireProtocol = Passages(
        article: "SignalProtocol/SignalProtocol.docc/WireProtocol.md",
        limits: """
            - One message is one text frame of at most \(n(FrameLimits.frame)) bytes
            - is a string of at most \(n(FrameLimits.requestID)) bytes or
            - | a frame | \(n(FrameLimits.frame)) bytes; \(n(FrameLimits.opening)) bytes before `session.open` was
              sent with a valid token | the server closes the connection with \(p(CloseCode.frameTooLarge.rawValue)) |
            - | \(n(FrameLimits.sdp)) bytes, without quotation marks |
            - | `custom` | \(n(FrameLimits.custom)) bytes |
            - | \(n(FrameLimits.handles)) handles and \(n(FrameLimits.target)) bytes |
            - | nesting depth of arrays and objects, including the frame and `params` | \(n(JSONScanner.maximumDepth))
              |
            - of one invite | \(n(FrameLimits.content)) bytes together, with quotation marks |
            - of one message | \(n(FrameLimits.content)) bytes, counting one byte
            - | a handle | \(n(Handle.longest)) bytes of
            - | `session.open.token` | \(n(FrameLimits.token)) bytes |
            - | \(n(PushToken.longest)) bytes, for Web Push \(n(PushToken.longestSubscription)), and
              \(n(FrameLimits.topic)) bytes; \(n(FrameLimits.pushTokens)) tokens per message, and
              \(n(core.tokensPerDevice)) per device |
            - and keeps the first \(n(FrameLimits.name)) bytes;
            - | `device.app`, `device.name` | \(n(FrameLimits.name)) bytes each |
            - | `push.report.error` | \(n(FrameLimits.reportError)) bytes |
            - a sustained rate limit of \(n(Int(connection.messagesPerSecond))) messages a second and a burst of
              \(n(Int(connection.burst))).
            - have a limit too, of \(n(RateLimit.messagesPerUser.standard)) messages a minute
            - The count decays evenly, from \(n(connection.refusalsUntilAbuse)) to zero within a minute; at
              \(n(connection.refusalsUntilAbuse)) the server closes the connection with \(p(CloseCode.abuse.rawValue)).
            - a connection has a burst of \(n(Int(connection.beforeSession.burst))) messages and two more each second,
              and \(n(connection.beforeSession.refusalsUntilAbuse)) refusals close it
            - A message must end within \(s(listener.requestTimeout)) seconds of its first byte. From accept, a
              connection has \(s(listener.requestTimeout)) seconds to complete
            - The client then has \(s(connection.openWithin)) seconds to send
            - then close code \(p(CloseCode.normal.rawValue)) |
            - then close code \(p(CloseCode.loggedOut.rawValue)) |
            - two digits per byte, \(n(PushToken.deviceTokenDigits.lowerBound)) to
              \(n(PushToken.deviceTokenDigits.upperBound)) digits |
            - as Firebase returns it, up to \(n(PushToken.longest)) bytes |
            - the subscription, up to \(n(PushToken.longestSubscription)) bytes:
            - It has at most \(n(TokenVerifier.longest)) bytes.
            - before this time, with \(s(TokenVerifier.standardLeeway)) seconds of leeway |
            - 1 to \(p(TokenObject.mostCallsPerMinute)) |
            - and closes the connection with \(p(CloseCode.badToken.rawValue)). The `message` gives
            - A wake token is valid until \(s(TokenAuthority.wakeGrace)) seconds after the ring deadline
            - at most \(n(core.replayEvents)) events and \(kib(core.replayBytes)) KiB. A `session.ack`
            - after \(n(session.ackEvery)) events, or \(ms(session.ackDelay)) ms after
            - answers it with a request within \(s(timers.delivery)) seconds is pushed as well
            - keeps the session for \(s(timers.resume)) seconds
            - the device's former connection with \(p(CloseCode.replaced.rawValue))
            - is from \(n(Int(CallTimers.ringRange.lowerBound.wholeMilliseconds))) to
              \(n(Int(timers.longestRing.wholeMilliseconds))).
            - may raise the maximum to \(n(Int(CallTimers.ringRange.upperBound.wholeMilliseconds))).
            - from \(n(Int(FieldReader.durationMilliseconds.lowerBound))) (a second) to
              \(n(Int(FieldReader.durationMilliseconds.upperBound))) (a week)
            - At most \(n(core.ringingCallsPerPair)) calls of one caller ring at a callee at once, and
              \(n(core.ringingCallsPerCallee)) of all callers, with \(kib(core.ringingPairBytes)) KiB and
              \(kib(core.ringingCalleeBytes)) KiB of
            - the server keeps up to \(n(core.bufferedCandidates)) candidates and \(kib(core.bufferedCandidateBytes))
              KiB for it
            - A message with more than \(n(core.bufferedCandidates)) candidates does not fit.
            - of more than \(n(Callees.few)) callees none of whom could be rung, the ended call keeps the first
              \(n(Callees.few)) in
            - A session keeps at most \(n(core.replayEvents)) of these, and \(kib(core.replayBytes)) KiB, of live
              calls
            - returns \(n(HistoryReader.standardPage)) calls per page by default, at most
              \(n(HistoryReader.longestPage)), or
            - slow consumer: \(mib(listener.maxQueuedBytes)) MiB of output
            - no answer to a ping within \(s(listener.pingTimeout)) s, or a message that does not end within
              \(s(listener.requestTimeout)) s |
            - no `session.open` within \(s(connection.openWithin)) s |
            - closes it after \(s(Shard.keptSpan)) seconds without one
            - A request head has at most \(n(RequestHead.longest)) bytes (431). A body has at most
              \(n(HTTPRequest.longestBody)) bytes (413)
            - It has at most \(n(APNSPayload.longestVoIP)) bytes.
            - At most \(n(WebPushEncryption.longestContent)) bytes fit
            """,
        others: #"""
            - # The wire protocol, version 1
            - counts as 30 seconds. The answer
            - JSON-RPC 2.0
            - [AsyncAPI 3]
            - a 64-bit integer
            - since 1970
            - U+200C and U+200D
            - UTF-8
            - base64url
            - with HS256 and
            - (RS256, PS256, ES256, ES384 or EdDSA)
            - the curve P-256
            - counted from 1 in
            - (RFC 6455, 5.5.2)
            - RFC 6455
            - for 2.5 intervals
            - After 3000 to 3004, no close code, or a code below 3500 that
            - | resource | body | 200 |
            - (OpenAPI 3.1)
            - - 400:
            - - 401:
            - - 403:
            - - 404:
            - - 405:
            - - 409:
            - - 411:
            - - 413, 431:
            - - 426:
            - - 429:
            - - 503:
            - - 505:
            - HTTP than 1.1 and 1.0
            - and a `Content-Length` (411)
            - Other pages get 403.
            - (200 on the server
            - 503 on a standby)
            - (200 `ready`, or 503 `not ready`)
            - priority 10
            - the event with `seq` 2
            """#)

    static let callSemantics = Passages(
        article: "CallCore/CallCore.docc/CallSemantics.md",
        limits: """
            - | ring | \(s(timers.ring)) s; `ring_ms` of the invite sets \(s(CallTimers.ringRange.lowerBound)) s to
              \(s(timers.longestRing)) s, or up to \(s(CallTimers.ringRange.upperBound)) s if
            - | connect | \(s(timers.connect)) s from the answer |
            - | report | \(s(timers.report)) s from the provider's answer
            - | delivery | \(s(timers.delivery)) s from `call.incoming` over a live socket
            - \(s(timers.delivery)) s from the time a ringing device loses its socket; \(s(timers.delivery)) s from a
              start
            - | comeback | \(s(timers.comeback)) s from a start
            - | resume | \(s(timers.resume)) s from the loss
            - | tombstone | \(s(timers.tombstone)) s from the end
            - Above \(n(core.endedCalls)) ended calls
            - | lookup | \(s(CallCore.lookUpPatience)) s from a request
            - | notice | \(hours(timers.notice)) h from a missed call |
            - | hunt | \(s(timers.huntStep)) s from one member
            - (close code \(p(CloseCode.replaced.rawValue)))
            - (close code \(p(CloseCode.loggedOut.rawValue)))
            - (close code \(p(CloseCode.badToken.rawValue)))
            - `hunt` rings a member every \(s(timers.huntStep)) s in list order
            - `limits.legs_per_call` legs (default \(n(core.legsPerCall)))
            - in place of the \(s(timers.huntStep)) s; with
            - or within \(s(timers.comeback)) s of a start by its return
            - the server closes it with \(p(CloseCode.pingTimeout.rawValue))
            - before forwarding, \(s(CallTimers.ringRange.lowerBound)) s to \(s(CallTimers.ringRange.upperBound)) s.
            - times at most (default \(n(core.forwards)))
            - refills evenly within \(s(timers.pushWindow)) s:
            - | `pushing_calls_per_pair` | \(n(core.pushingCallsPerPair)) in \(s(timers.pushWindow)) s |
            - gets a call through every \(s(timers.pushWindow / core.pushingCallsPerPair)) s |
            - | `pushes_per_device` | \(n(core.pushesPerDevice)) in \(s(timers.pushWindow)) s |
            - | `pushing_calls_per_caller` | \(n(core.pushingCallsPerCaller)) in \(s(timers.pushWindow)) s |
            - | `pushes_per_caller` | \(n(core.pushesPerCaller)) in \(s(timers.pushWindow)) s |
            - If it was to more than \(n(Callees.few)) callees and no device had a leg, its record keeps of a list the
              first \(n(Callees.few)) handles
            - | `live_calls_per_user` | \(n(core.liveCallsPerUser)) |
            - | `call_bytes_per_user` | \(mib(core.callBytesPerUser)) MiB |
            - \(kB(Call.bytesOfCall)) kB for a call, \(kB(Call.bytesOfLeg)) kB for each called device,
              \(n(Call.bytesOfCallee + Call.bytesOfName)) bytes for each callee, and the content
            - | `stored_bytes_per_user` | \(mib(core.storedBytesPerUser)) MiB in a minute |
            - \(n(StoredBytes.callee)) bytes for each callee, \(n(StoredBytes.device / 1000)) kB for each called device,
              candidates that are stored
            - | `device_updates_per_user` | \(n(core.deviceUpdatesPerUser)) in a minute |
            - a tenth, but at least \(n(CoreLimits.share(of: 101))) |
            - \(n(AnswerRoom.share.questions)) invites and as many sessions, and \(n(AnswerRoom.share.messages)) further
              messages
            - that began to wait beside \(n(AnswerRoom.crowd)) of the user's |
            - | pages of `call.list` | | \(n(CallCore.mostPagesOfUser)) are read at a time |
            - | `ringing_calls_per_pair` | \(n(core.ringingCallsPerPair)) |
            - | `ringing_calls_per_callee` | \(n(core.ringingCallsPerCallee)) |
            - | `ringing_pair_bytes` | \(n(core.ringingPairBytes)) |
            - | `ringing_callee_bytes` | \(n(core.ringingCalleeBytes)) |
            - The second one follows \(minutes(timers.probePauses[0])) minutes later.
            - real call after \(minutes(timers.probePauses[0])) minutes, because
            - The next probes follow \(hours(timers.probePauses[1])) hour, \(hours(timers.probePauses[2])) hours and a
              day
            - after \(s(timers.delivery)) s without a sign of life the device is pushed as well
            - the first session is closed with \(p(CloseCode.replaced.rawValue))
            - | the caller's socket breaks | \(s(timers.resume)) s to reconnect
            - unless it is back within \(s(timers.delivery)) s;
            - each side has \(s(timers.resume)) s to reconnect
            - calls wait up to \(s(push.circuitPatience)) s for the next try, one every
              \(decimal(push.circuitBackoff.base / 2)) to \(decimal(push.circuitBackoff.cap * 3 / 2)) s
            - after \(minutes(timers.probePauses[0])) minutes one push is sent
            """,
        others: #"""
            - Q.850
            - answered with 5xx
            - 1) an APNs
            - 2) an FCM
            - 3) an APNs
            - 4) an FCM
            - HTTP/2
            - a push 30 s late
            - APNs: 410
            - APNs: 429
            - APNs: 503
            - a group of 1,000, one answer
            - (rule 11)
            """#)

    static let adminAPI = Passages(
        article: "AdminProtocol/AdminProtocol.docc/AdminAPI.md",
        limits: """
            - A reload without the token closes the connection (\(p(CloseCode.badToken.rawValue))).
            - the oldest such connection is closed (\(p(CloseCode.overloaded.rawValue))) when many are open.
            - one JSON object of at most \(kib(AdminEndpoint.longestFrame)) KiB
            - of a connection at most \(n(RequestShares.mostOfConnection)) reads and
              \(n(RequestShares.mostOfConnection)) changes
            - never more than \(n(AdminEndpoint.pageSize))
            - or \(n(IDPart<CallSubject>.fewestDigits)) or more digits of
            - two notifications: \(n(LiveQueries.callIntervals.lowerBound)) to
              \(n(LiveQueries.callIntervals.upperBound)) for calls, \(n(LiveQueries.statsIntervals.lowerBound)) to
              \(n(LiveQueries.statsIntervals.upperBound)) for figures.
            - A connection has at most \(n(SubscriptionDriver.mostPerConnection)) subscriptions. Those with the token for
              reading have \(n(SubscriptionDriver.mostOfReaders)) together; beyond it
            - : at most \(n(Drain.longestMilliseconds)) |
            - the socket is closed with \(p(CloseCode.dropped.rawValue)) |
            - its session is closed with \(p(CloseCode.loggedOut.rawValue)),
            - are logged out (\(p(CloseCode.badToken.rawValue))),
            """,
        others: #"""
            - JSON-RPC 2.0
            - base64url
            - p50 latency
            - p95 latency
            - p99 latency
            """#)

    static let operations = Passages(
        article: "CallServer/CallServer.docc/Operations.md",
        limits: """
            - has left \(n(AuthorizationCircuit.usersUntilDead)) users in a row without an answer
            - a push has waited longer than \(s(ServerFacts.longestHandshake)) s without a connection
            - a push has waited longer than \(s(ServerFacts.longestWait)) s, and
            - It stays for \(minutes(ServerFacts.refusalsCount)) minutes after the last such push; the server is
            - calls that need it wait up to \(s(push.circuitPatience)) s. Of
            - a commit has waited for more than \(s(ServerFacts.longestCommit)) s; or
            - takes more than \(ms(ServerFacts.slowCommit)) ms, the tables are more than
              \(s(ServerFacts.longestBehind)) s behind
            - a push certificate expires within \(days(ServerFacts.pushWarning)) days |
            - or an authority of `admin.client_ca` expires within \(days(ServerFacts.listenerWarning)) days |
            - those of all users, for \(minutes(ServerFacts.refusalsCount)) minutes, unless
            - for \(minutes(ServerFacts.refusalsCount)) minutes after the last question |
            - oldest event waits for more than \(minutes(ServerFacts.oldestEvent)) minutes |
            - took more than \(s(ServerFacts.longestRing)) s to ring
            - in \(minutes(CountHistory.span)) minutes |
            - were dropped in \(minutes(CountHistory.span)) minutes:
            - had no valid answer in \(minutes(CountHistory.span)) minutes
            - over after \(n(ServerFacts.answersToTrust)) valid answers in a row
            - and \(days(ServerFacts.pushWarning)) days before an APNs certificate does
            - at least \(n(600 - DescriptorLimit.connections(within: 600))) and at most
              \(n(1_000_000 - DescriptorLimit.connections(within: 1_000_000))), is reserved
            - With fewer than \(n(DescriptorLimit.fewest)) the server does not start
            - A connection has \(s(listener.requestTimeout)) s from accept to complete
            - A message must end within \(s(listener.requestTimeout)) s of its first byte, and a client has
              \(s(listener.answerTimeout)) s to read an answer
            - The admin API has its own connections, \(n(AdminService.mostConnections)) on each listener
            - When more than \(n(AdminService.mostWithReaders)) are open over TCP, the oldest with the token for reading is
              closed (\(p(CloseCode.overloaded.rawValue))),
            - An IPv6 network of \(wide[0].length) bits
            - one of \(wide[1].length) bits \(wide[1].shares) times as many
            - The log warns at most every \(s(ConnectionPressure.interval)) s for each cause
            - must begin with a header within \(s(listener.requestTimeout)) s.
            - (at most \(n(PageFolder.mostFiles)) files of \(mib(PageFolder.longestFile)) MiB,
              \(mib(PageFolder.mostBytes)) MiB together,
            - RSA keys need at least \(p(TokenKey.fewestBits)) bits
            - The response has at most \(kib(RemoteKeySet.longest)) KiB and must arrive within
              \(s(RemoteKeySet.patience)) s.
            - Of a set, as of a file, the first \(n(TokenKeySet.mostKeys)) keys are read.
            - at least \(minutes(KeySetSchedule.shortestAge)) minutes, at most \(hours(KeySetSchedule.longestAge))
              hours, by default \(minutes(KeySetSchedule.standardAge)) minutes
            - at most once in \(s(KeySetSchedule.spacing)) s.
            - its keys stay valid for \(hours(KeySetSchedule.grace)) hours
            - their connections are closed with \(p(CloseCode.badToken.rawValue)), and a new token can resume them for
              \(s(timers.resume)) s.
            - the sessions that they opened end with \(p(CloseCode.badToken.rawValue)).
            - connections with a token that is gone are closed with \(p(CloseCode.badToken.rawValue)) |
            - `limits.call_bytes_per_user` (\(mib(core.callBytesPerUser)) MiB)
            - `limits.stored_bytes_per_user` (\(mib(core.storedBytesPerUser)) MiB)
            - The token has at least \(n(BearerToken.fewestCharacters)) characters
            - Its buffer holds \(p(LogWriter.capacity)) lines, and \(p(LogWriter.errorReserve)) more for errors
            - with \(s(TokenVerifier.standardLeeway)) s of leeway
            - 127.0.0.1:\(p(MetricsListenerConfiguration.standardPort)) by default
            - the default port \(p(MetricsListenerConfiguration.standardPort)) is in use
            - Above \(n(Int(WriteBehind().recordsPerSecond))) records a second
            - keeps ended calls for \(days(retention.calls ?? .zero)) days
            - keeps missed calls for \(days(retention.missed ?? .zero)) days, at most the newest
              \(n(retention.missedPerUser)) per user
            - keeps webhook events for \(days(RetentionPolicy.standardEvents)) days
            - at most \(n(RetentionPace().rows)) rows and takes about \(ms(RetentionPace().time)) ms
            - Deletion takes about \(n(Int(RetentionPace().share * 100))) % of
            - `limits.idle_users` (\(n(core.idleUsers))) others
            - For \(ms(CallAdmission.interval)) ms each turn of an event loop took longer than
              \(ms(CallAdmission.target)) ms
            - One turn takes longer than \(ms(CallAdmission.burst)) ms, or a commit longer than
              \(ms(CallAdmission.commit)) ms
            - If a commit takes longer than \(s(StoreStall.patience)) s
            - the standby waits up to \(s(Lease.duration)) s for the end
            - requests are refused after \(s(StoreStall.patience)) s;
            - cut off or stopped for over \(s(Lease.duration)) s,
            - closes all connections with \(p(CloseCode.shutdown.rawValue))
            """,
        others: #"""
            - Exit codes: 0 ok; 1 the operation failed or was refused, or the condition is false; 2 the command could
              not run,
            - or `restore` finds a store; 64 usage.
            - others with the status 403
            - (ports 2195 and 2196)
            - (all files have mode 0600)
            - (HTTP 503)
            - in UTF-8 (RFC 3986)
            - in user names with 400,
            - a call with 8 kB of SDP and candidates counts as some 10 kB
            - answers 503 while
            - and 200 with the other
            - failed in 5 minutes,
            - refused something in 5 minutes;
            - ten calls in 5 minutes |
            - of the pushes of 10 minutes
            - a fifth of more than 20 questions
            - only 404, 405 or 410.
            - such as 403:
            - 20 after one.
            - more than ten times in 5 minutes
            - TLS or HTTP/2 where
            - for more than 90 % of 5 minutes |
            - more than half of more than 20 sessions
            - a fifth of more than 20 calls
            - in 10 minutes |
            - closed in 10 minutes to
            - more than 90 % of the
            - TLS 1.2 and 1.3 are
            - in TLS 1.2 ECDHE
            - ChaCha20-Poly1305
            - (127.0.0.1 by default)
            - is answered 503 |
            - One IPv4 address, or one IPv6 network of 64 bits
            - version 1 or 2 |
            - an invalid request (400)
            - get 304 while
            - with HS256 and
            - RS256, PS256, ES256, ES384 and EdDSA
            - (mode 0600)
            - (RFC 3339, UTC, ms)
            - (401 and 403 over HTTP)
            - (IPv6: /64)
            - exit code 0 ok, 1 warning, 2 critical, 3 unknown
            - ; 0 keeps rows for ever
            - for at least 4 days
            - after 270 days, so 270 is
            - is 1.
            - mode 0600
            - (server 13 or later
            - rates it 1.1)
            """#)

    static let webhooks = Passages(
        article: "WebhookClient/WebhookClient.docc/Webhooks.md",
        limits: """
            - A server has at most \(n(WebhookEndpoint.most)) endpoints.
            - unless it is larger than \(kib(EventBody.longestCustom)) KiB |
            - A list of callees is cut after \(kib(EventBody.longestList)) KiB, and that of an ended call that has rung
              nobody after \(n(Callees.few)) handles;
            - a caller's name after \(n(FrameLimits.name)) bytes.
            - A body has at most \(n(EventBody.longest)) bytes.
            - up to \(n(DeliveryQueue.mostInFlight)) are sent at a time,
            - within \(ms(DeliveryQueue.promptness)) ms makes room for another one, up to \(n(DeliveryQueue.mostOpen))
              in all
            - within \(s(EndpointSender.patience)) s. Everything else
            - between the attempts are \(pauses), each
            - doubles from 1 s to \(s(DeliveryQueue.longestProbePause)) s.
            - at a time, \(ms(DeliveryQueue.shortestProbePause)) ms after each other.
            - when events of \(n(DeliveryQueue.usersUntilSlower)) more users have failed
            - a turn of their own, in which it stays \(ms(DeliveryQueue.shortestProbePause)) ms.
            - took longer than \(s(DeliveryQueue.slowAfter)) s,
            - half of the memory and of the \(n(DeliveryQueue.mostInFlight)), all
            - together, of the \(n(DeliveryQueue.mostOpen)) a quarter
            - whose attempt took more than \(s(DeliveryQueue.slowAfter)) s to fail rest on
            - have a turn of their own, every \(ms(DeliveryQueue.promptness)) ms
            - The server holds \(n(DeliveryQueue.mostHeld)) events or \(mib(DeliveryQueue.mostBytes)) MiB of an endpoint
              in memory, and sends \(n(DeliveryQueue.mostInFlight)) at a time.
            - and of the \(n(DeliveryQueue.mostInFlight)), as are free
            - If you refuse \(n(DeliveryQueue.mostHeld / 2)) events of a user, the user's next ones therefore wait, up to
              \(hours(DeliveryQueue.pauses.reduce(.zero, +) * 11 / 10)) hours.
            - \(days(RetentionPolicy.standardEvents)) days by default
            """,
        others: #"""
            - | 1 to 64 letters
            - | 1 to 4:
            - with Base64 of 24 to 64 bytes (HMAC-SHA256)
            - an Ed25519 private key
            - , from 1 and without gaps
            - a status of 200 to 299
            - up to 10 % longer.
            - With status 429, 502, 503 or 504 you may
            - Status 410 for the events of
            - Answer 2xx to events
            - has waited for 20 minutes
            """#)

    /// Those of the attempts to send an event, as the article lists them.
    private static var pauses: String {
        let texts = DeliveryQueue.pauses.map { pause in
            let seconds = pause.components.seconds
            return seconds < 60 ? "\(seconds) s" : seconds < 3600 ? "\(seconds / 60) min" : "\(seconds / 3600) h"
        }
        return texts.dropLast().joined(separator: ", ") + " and " + (texts.last ?? "")
    }

    @Test(
        "each number in an article is the code's",
        arguments: [wireProtocol, callSemantics, adminAPI, operations, webhooks])
    func numbers(_ passages: Passages) throws {
        var prose = try Self.prose(of: passages.article)
        for passage in Self.list(passages.limits) + Self.list(passages.others) {
            #expect(prose.contains(passage), "\(passages.article): \(passage)")
            prose = prose.replacing(passage, with: "")
        }
        // Names, paths and frames: other tests read these.
        let words = prose.split(separator: "`", omittingEmptySubsequences: false).enumerated()
            .filter { $0.offset.isMultiple(of: 2) }.flatMap { $0.element.split(separator: " ") }
        let numbers = words.filter { $0.contains(where: \.isNumber) }
        #expect(numbers == [], "\(passages.article) has numbers that no test reads")
    }

    /// Of an article whose other numbers are figures, addresses and settings of other programs.
    private static let twoMachines = """
        - by then the \(s(timers.resume)) s in
        - Prometheus scrapes both nodes directly, at port \(p(MetricsListenerConfiguration.standardPort)).
        - the lease is \(s(Lease.duration)) s |
        - requests are `overloaded` after \(s(StoreStall.patience)) s and HAProxy
        - while the home still counts on it, for up to \(s(Lease.duration)) s |
        """

    @Test("what the article on two machines promises is the code's")
    func realm() throws {
        let prose = try Self.prose(of: "CallServer/CallServer.docc/RunOnTwoMachines.md")
        for passage in Self.list(Self.twoMachines) { #expect(prose.contains(passage), "\(passage)") }
    }

    // MARK: OpenAPI

    /// What bounds a number, a text or a list of a schema.
    private static let boundKeywords: Set = [
        "minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength", "x-maxBytes",
    ]
    /// Members of a document that name nothing.
    private static let structure: Set = [
        "paths", "components", "schemas", "parameters", "schema", "requestBody", "content", "application/json",
        "properties", "additionalProperties",
    ]

    /// The bounds in a document, by the names around them.
    private static func bounds(in value: Any, at place: [String] = []) -> [String: [String: Int]] {
        var found: [String: [String: Int]] = [:]
        if let list = value as? [Any] {
            for (index, element) in list.enumerated() {
                let name = (element as? [String: Any])?["name"] as? String
                found.merge(bounds(in: element, at: place + [name ?? "\(index)"])) { $1 }
            }
        }
        guard let object = value as? [String: Any] else { return found }
        let own = object.filter { boundKeywords.contains($0.key) }.compactMapValues { $0 as? Int }
        if !own.isEmpty { found[place.joined(separator: " ")] = own }
        for (name, member) in object {
            found.merge(bounds(in: member, at: structure.contains(name) ? place : place + [name])) { $1 }
        }
        return found
    }

    private static func bounds(inDocument name: String) throws -> [String: [String: Int]] {
        let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Resources/\(name)")
        return bounds(in: try JSONSerialization.jsonObject(with: Data(contentsOf: file)))
    }

    @Test("each bound in the OpenAPI documents is the code's")
    func schemas() throws {
        #expect(
            try Self.bounds(inDocument: "reveille.openapi.json") == [
                "/v1/pushes/{push_id}/report post error": [
                    "maxLength": FrameLimits.reportError, "x-maxBytes": FrameLimits.reportError,
                ]
            ])
        let users = "/v1/backend/users/{user}"
        let latest = Int(Instant.latest.milliseconds)
        let answer = CallRules.noAnswerRange
        let backend: [String: [String: Int]] = [
            "/v1/backend/calls/{call_id} get wait": ["minimum": 0, "maximum": BackendHTTPRequest.longestWait],
            "\(users)/forward put no_answer_seconds": [
                "minimum": Int(answer.lowerBound.components.seconds),
                "maximum": Int(answer.upperBound.components.seconds),
            ],
            "\(users)/revoke post before_ms": ["minimum": 0, "maximum": latest],
            "/v1/backend/webhooks/{name}/replay post since_ms": ["minimum": 0, "maximum": latest],
            "/v1/backend/server/drain post deadline_ms": ["minimum": 0, "maximum": Drain.longestMilliseconds],
            "limit": ["minimum": 1, "maximum": BackendExport.longestPage],
            "key": ["minLength": 1, "maxLength": BackendHTTPRequest.longestKey],
            "BackendInvite from_name": ["maxLength": FrameLimits.name, "x-maxBytes": FrameLimits.name],
            "BackendInvite ring_ms": [
                "minimum": Int(CallTimers.ringRange.lowerBound.wholeMilliseconds),
                "maximum": Int(CallTimers.ringRange.upperBound.wholeMilliseconds),
            ],
            "BackendInvite max_duration_ms": [
                "minimum": Int(FieldReader.durationMilliseconds.lowerBound),
                "maximum": Int(FieldReader.durationMilliseconds.upperBound),
            ],
            "Group members": ["minItems": 1, "maxItems": CallGroup.mostMembers],
            "Group delays": ["minimum": 0, "maximum": Int(CallGroup.longestDelay.components.seconds)],
            "Callers callers": ["minItems": 1, "maxItems": CallRules.mostBlocked],
        ]
        #expect(try Self.bounds(inDocument: "reveille.backend.openapi.json") == backend)
        // A list of the admin API has as many entries.
        #expect(AdminEndpoint.pageSize == BackendExport.longestPage)
    }

    // MARK: Text

    /// The items of a list, each on one line.
    private static func list(_ text: String) -> [String] {
        ("\n" + text).components(separatedBy: "\n- ").dropFirst().map(joined)
    }

    private static func joined(_ text: String) -> String {
        text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    /// The text of an article without code, numbers of lists, and the codes of tables that other tests read.
    private static func prose(of article: String) throws -> String {
        let sources = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Sources")
        let text = try String(contentsOf: sources.appending(path: article), encoding: .utf8)
        var lines: [String] = []
        var (isFenced, mayBeCode) = (false, false)
        for line in text.components(separatedBy: "\n") {
            if line.hasPrefix("```") { isFenced.toggle() }
            // An indented block begins after an empty line; otherwise the line belongs to the one above it.
            let isCode = isFenced || line.hasPrefix("```") || mayBeCode && line.hasPrefix("    ")
            mayBeCode = line.isEmpty || isCode
            if !isCode { lines.append(withoutCodes(line)) }
        }
        return joined(lines.joined(separator: "\n"))
    }

    private static func withoutCodes(_ line: String) -> String {
        // Errors, and end reasons with SIP status and Q.850 cause.
        if line.hasPrefix("| -32") || line.firstMatch(of: /\| \d+ \| \d+ \|$/) != nil { return "" }
        // Close codes, and the numbers of a list.
        return line.replacing(/^\| \d{4} \|/, with: "| |").replacing(/^\d+\.\s/, with: "")
    }

    // MARK: Numbers

    /// With commas between groups of three digits.
    private static func n(_ number: Int) -> String {
        var digits = "\(number)"
        var place = digits.count - 3
        while place > 0 {
            digits.insert(",", at: digits.index(digits.startIndex, offsetBy: place))
            place -= 3
        }
        return digits
    }

    private static func p(_ number: some BinaryInteger) -> String { "\(number)" }
    private static func kib(_ bytes: Int) -> String { n(bytes / 1024) }
    /// With one decimal digit.
    private static func kB(_ bytes: Int) -> String { "\(bytes / 1000).\(bytes % 1000 / 100)" }
    private static func mib(_ bytes: Int) -> String { n(bytes >> 20) }
    private static func ms(_ time: Duration) -> String { "\(time.wholeMilliseconds)" }
    private static func s(_ time: Duration) -> String { "\(time.components.seconds)" }
    private static func minutes(_ time: Duration) -> String { "\(time.components.seconds / 60)" }
    private static func hours(_ time: Duration) -> String { "\(time.components.seconds / 3600)" }
    private static func days(_ time: Duration) -> String { "\(time.components.seconds / 86_400)" }
    /// Seconds with one decimal digit.
    private static func decimal(_ time: Duration) -> String {
        "\(time.wholeMilliseconds / 1000).\(time.wholeMilliseconds % 1000 / 100)"
    }
}
