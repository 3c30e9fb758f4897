import WebSocketServer

/// Metrics of the clients' listener.
enum ListenerMetrics {
    static func add(_ listener: WebSocketServer.Statistics, to report: inout PrometheusText) {
        func each(_ name: String, _ kind: PrometheusText.Kind, _ help: String, _ value: (ShardStatistics) -> Double) {
            report.metric(
                name, kind, help, listener.shards.enumerated().map { ("shard=\"\($0.offset)\"", value($0.element)) })
        }
        each("reveille_connections", .gauge, "WebSockets open.") { Double($0.connections) }
        each("reveille_messages_received_total", .counter, "Messages received.") { Double($0.messagesIn) }
        each("reveille_messages_sent_total", .counter, "Messages sent.") { Double($0.messagesOut) }
        each("reveille_received_bytes_total", .counter, "Payload bytes received.") { Double($0.bytesIn) }
        each("reveille_sent_bytes_total", .counter, "Payload bytes sent.") { Double($0.bytesOut) }
        each("reveille_slow_consumers_total", .counter, "Connections closed because they did not read.") {
            Double($0.slowConsumers)
        }
        each("reveille_ping_timeouts_total", .counter, "Connections closed because they did not answer a ping.") {
            Double($0.pingTimeouts)
        }
        each(
            "reveille_bad_frames_total", .counter,
            "Connections closed for what they sent: broken frames, binary, invalid UTF-8, too large."
        ) { Double($0.badFrames) }
        each("reveille_handshakes_refused_total", .counter, "WebSocket handshakes refused.") {
            Double($0.handshakesRefused)
        }
        each(
            "reveille_connections_failed_total", .counter,
            "Connections closed before anything came of them: memory or descriptors, or a TLS handshake that failed at once."
        ) { Double($0.connectionsFailed) }
        report.metric("reveille_connections_accepted_total", .counter, "Connections accepted.", listener.accepted)
        each(
            "reveille_connections_unfinished_total", .counter,
            "Connections closed because a handshake, request or message did not end in time."
        ) { Double($0.unfinished) }
        report.metric(
            "reveille_connections_limit", .gauge, "Connections that there may be at once.", UInt64(listener.limit))
        report.metric(
            "reveille_connections_refused_total", .counter, "Connections over the limit or their address's share.",
            listener.refused)
        report.metric(
            "reveille_connections_refused_by_address_total", .counter,
            "Those of them whose address had its share.", listener.refusedByShare)
        report.metric(
            "reveille_connections_evicted_total", .counter,
            "Connections without a session that made room for others.", listener.evicted)
    }

    static func add(_ sessions: SessionCounters, to report: inout PrometheusText) {
        report.metric(
            "reveille_session_opens_total", .counter, "Requests for a session, by what came of them.",
            sessions.opens.map { ("result=\"\($0.outcome.rawValue)\"", Double($0.count)) })
        report.metric(
            "reveille_connections_closed_total", .counter, "WebSockets closed, by who ended them and the close code.",
            sessions.closes.map { ("by=\"\($0.by.rawValue)\",code=\"\($0.code)\"", Double($0.count)) })
        report.metric(
            "reveille_http_refusals_total", .counter, "HTTP requests about calls that were refused, by status.",
            sessions.refusals.map { ("status=\"\($0.status)\"", Double($0.count)) })
    }

    static func add(_ signal: SignalCounters, to report: inout PrometheusText) {
        report.metric(
            "reveille_notifications_dropped_total", .counter, "Notifications that went unheard, by reason.",
            SignalCounters.Drop.allCases.map { ("reason=\"\($0.rawValue)\"", Double(signal.drops($0))) })
        report.metric(
            "reveille_http_questions_unanswered_total", .counter,
            "Questions by HTTP that the server had no room for, or no answer in time.", signal.unansweredQuestions)
    }
}
