/// Metrics of the server's queues: depth and capacity.
struct QueueMetrics {
    private var queues: [(name: String, depth: Int, capacity: Int, refused: UInt64?)] = []

    /// - Parameter refused: items refused since the start; nil when the producer waits instead.
    mutating func add(_ name: String, depth: Int, capacity: Int, refused: UInt64? = nil) {
        queues.append((name, depth, capacity, refused))
    }

    func add(to report: inout PrometheusText) {
        report.metric(
            "reveille_queue_depth", .gauge, "Entries in a queue, by queue.",
            queues.map { ("queue=\"\($0.name)\"", Double($0.depth)) })
        report.metric(
            "reveille_queue_capacity", .gauge, "Capacity of a queue, by queue.",
            queues.map { ("queue=\"\($0.name)\"", Double($0.capacity)) })
        report.metric(
            "reveille_queue_refused_total", .counter, "Entries refused by a full queue, by queue.",
            queues.compactMap { queue in queue.refused.map { ("queue=\"\(queue.name)\"", Double($0)) } })
    }
}
