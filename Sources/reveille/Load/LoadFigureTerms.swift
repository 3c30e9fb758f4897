/// What each figure of a load test counts, for the manual; capitals stand for a name. The same is in `LoadReports.md`.
enum LoadFigureTerms {
    static let all: [(term: String, meaning: String)] = [
        ("seconds", "the part that counts"),
        ("begun", "pieces of work that were due in the part that counts and begun"),
        ("completed", "pieces completed in the part that counts"),
        ("completed_per_second", "the same by second"),
        ("completed_in_all", "pieces completed, with ramp, warm-up and what ended after the part that counts"),
        ("completed_SCENARIO", "of mixed: pieces of this scenario completed, at any time of the run"),
        ("asked_per_second", "of an open loop: the rate that was asked for"),
        (
            "not_begun",
            "of an open loop: pieces that were due, at any time, when no phone was free for them; they "
                + "are failures too"
        ),
        ("under_way_most", "the most pieces under way at the end of a second"),
        ("sessions", "sessions that were open"),
        ("legs", "of fanout: devices called by the calls completed in the part that counts"),
        ("fault_NAME", "of mixed with faults: calls with this fault that came to an end it allows"),
        ("disturbed_ended_REASON", "of mixed with faults: calls with a fault that ended so at the caller"),
        (
            "server_cores",
            "CPU time of all of the server's threads in the part that counts, by time, as the kernel "
                + "counts it: 1 is one core"
        ),
        ("server_cpu_per_piece", "the same for each piece completed"),
        ("server_cpu_per_leg", "of fanout: the same for each device called"),
        ("server_cores_by_metrics", "as server_cores, by the server's own process_cpu_seconds_total"),
        ("server_cpu_per_piece_by_metrics", "the same for each piece completed"),
        ("server_calls", "calls that the server took in over all of the run, by its own count"),
        ("server_resumed", "sessions that it resumed over all of the run, by its own count"),
        ("server_memory_before", "its resident memory before the first session"),
        (
            "server_memory_open",
            "its resident memory with all sessions open: before the load, of register after the hold"
        ),
        ("server_memory_after", "its resident memory after the load, sessions still open"),
        (
            "server_memory_per_session",
            "growth of its resident memory from the first to the last session opened, by their number"
        ),
        (
            "server_memory_growth",
            "its mean resident memory in the last third of the part that counts by that in the middle "
                + "third, less one"
        ),
        (
            "server_descriptors_start, server_descriptors_max, server_descriptors_end",
            "files and sockets that it had open when the part that counts began, at most, and at its "
                + "end"
        ),
        ("own_cores", "CPU time of the load generator in the part that counts, by time"),
        ("own_cpu_per_piece", "the same for each piece completed"),
        ("own_thread_N_cores", "CPU time of one thread of phones by time: at 1 it can do no more"),
        (
            "lateness_p50, lateness_p99, lateness_max",
            "of an open loop: from when a piece was due to when it was begun; it is part of its times"
        ),
        ("simulator_cores", "CPU time of the push simulator by time"),
        ("other_cores", "CPU time by time of processes that have no part in the run"),
        ("machine_cores", "what the machine has"),
        ("pushes_per_second", "pushes that the server intended in the part that counts, by second"),
        ("pushes_received", "pushes that came to phones, at any time of the run"),
        ("pushes_reported", "pushes whose report the server has answered, at any time of the run"),
        ("pushes_repeated", "pushes that came to a phone for a call that it had a push for already"),
        (
            "ledger_STATUS",
            "pushes in the server's ledger, of all of the run, with this status: of the provider, or of "
                + "the device's report"
        ),
        (
            "provider_received, provider_accepted, provider_refused, provider_delivered, provider_reported, provider_reported_in_vain, provider_kills",
            "requests that came to the push simulator, those it answered with 200, those it refused; "
                + "pushes it gave to phones; pushes that apps reported in time; reports of pushes that nobody "
                + "waited for; apps that their system ended for want of a report; all of the run"
        ),
    ]

    /// Whether a figure's key is among them.
    static func contain(_ key: String) -> Bool {
        all.lazy.flatMap { $0.term.split(separator: ", ") }.contains { term in
            let parts = term.split(separator: "_"), names = key.split(separator: "_")
            guard let name = parts.firstIndex(where: { $0.allSatisfy(\.isUppercase) }) else { return term == key }
            let rest = parts.count - name - 1
            return names.count >= parts.count && parts[..<name] == names[..<name]
                && parts.suffix(rest) == names.suffix(rest)
        }
    }
}
