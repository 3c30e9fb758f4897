import WebSocketServer

/// Metrics of the clients' listener.
enum ListenerMetrics {
    static func add(_ listener: WebSocketServer.Statistics, to report: inout PrometheusText) {
        func each(_ name: String, _ kind: PrometheusText.Kind, _ help: String, _ value: (ShardStatistics) -> Double) {
            report.metric(
                name, kind, help, listener.shards.enumerated().map { ("shard=\"\($0.offset)\"", value($0.element)) })
        }
        each("reveille_connections", .gauge, "Open WebSocket connections.") { Double($0.connections) }
        each("reveille_messages_received_total", .counter, "Messages received.") { Double($0.messagesIn) }
        each("reveille_messages_sent_total", .counter, "Messages sent.") { Double($0.messagesOut) }
        each("reveille_received_bytes_total", .counter, "Payload bytes received.") { Double($0.bytesIn) }
        each("reveille_sent_bytes_total", .counter, "Payload bytes sent.") { Double($0.bytesOut) }
        each(
            "reveille_slow_consumers_total", .counter,
            "Connections closed because the client did not read its messages."
        ) {
            Double($0.slowConsumers)
        }
        each("reveille_unread_bytes", .gauge, "Bytes queued for clients to read.") { Double($0.unreadBytes) }
        each("reveille_ping_timeouts_total", .counter, "Connections closed because the client did not answer a ping.") {
            Double($0.pingTimeouts)
        }
        each(
            "reveille_bad_frames_total", .counter,
            "Connections closed for invalid input: a malformed frame, a binary message, invalid UTF-8, too large a message."
        ) { Double($0.badFrames) }
        each(
            "reveille_handshakes_refused_total", .counter,
            "Refused WebSocket and TLS handshakes, and PROXY protocol headers where none is read."
        ) { Double($0.handshakesRefused) }
        each(
            "reveille_connections_failed_total", .counter,
            "Connections that failed at once: no memory, no descriptor, or a failed TLS handshake."
        ) { Double($0.connectionsFailed) }
        report.metric("reveille_connections_accepted_total", .counter, "Connections accepted.", listener.accepted)
        each(
            "reveille_connections_unfinished_total", .counter,
            "Connections closed because a handshake, request or message exceeded its deadline."
        ) { Double($0.unfinished) }
        report.metric(
            "reveille_connections_limit", .gauge, "Effective connection limit.", UInt64(listener.limit))
        report.metric(
            "reveille_connections_refused_total", .counter,
            "Connections refused at the connection limit or at the limit of their address.",
            listener.refused)
        report.metric(
            "reveille_connections_refused_by_address_total", .counter,
            "Connections refused at the limit of their address.", listener.refusedByShare)
        report.metric(
            "reveille_proxy_headers_refused_total", .counter,
            "Connections of proxies closed for a missing or invalid PROXY protocol header.", listener.headersRefused)
        report.metric(
            "reveille_connections_evicted_total", .counter,
            "Connections without a session closed to make room for new ones.", listener.evicted)
    }

    static func add(_ sessions: SessionCounters, to report: inout PrometheusText) {
        report.metric(
            "reveille_session_opens_total", .counter, "Requests to open a session, by result.",
            sessions.opens.map { ("result=\"\($0.outcome.rawValue)\"", Double($0.count)) })
        report.metric(
            "reveille_connections_closed_total", .counter, "WebSocket connections closed, by initiator and close code.",
            sessions.closes.map { ("by=\"\($0.by.rawValue)\",code=\"\($0.code)\"", Double($0.count)) })
        report.metric(
            "reveille_http_refusals_total", .counter, "Refused HTTP requests about calls, by status.",
            sessions.refusals.map { ("status=\"\($0.status)\"", Double($0.count)) })
    }

    static func add(_ signal: SignalCounters, to report: inout PrometheusText) {
        report.metric(
            "reveille_notifications_dropped_total", .counter, "Notifications from clients dropped, by reason.",
            SignalCounters.Drop.allCases.map { ("reason=\"\($0.rawValue)\"", Double(signal.drops($0))) })
        report.metric(
            "reveille_http_questions_unanswered_total", .counter,
            "HTTP requests about calls that had no room in the queue, or no answer in time.",
            signal.unansweredQuestions)
        report.metric(
            "reveille_calls_refused_by_overload_total", .counter,
            "New calls refused because they would have been answered too late.", signal.lateCalls)
    }
}
