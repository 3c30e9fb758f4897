import CallCore

/// Counts requests in progress, with a share for each asker. ``AdminShard`` has one for reads and one for changes, so
/// that reads take no room of changes.
struct RequestShares {
    enum Asker: Hashable {
        /// A connection of the socket, or one with the token for all operations, by its serial.
        case administrator(UInt64)
        /// A connection with the token for reading, by its serial.
        case reader(UInt64)
        /// A backend, by its credential.
        case backend(String)
    }

    /// The most requests in progress. Backends have at most half of them, the token for reading a quarter.
    static let most = 512
    static let mostOfConnection = 16

    private var counts: [Asker: Int] = [:]
    private var all = 0
    private var readers = 0
    private var backends = 0

    /// Counts one more request.
    /// - Returns: false when the asker's share is taken, or all room.
    mutating func take(_ asker: Asker) -> Bool {
        let share =
            switch asker {
            case .administrator: Self.mostOfConnection
            // At most as many as are still free, so that one more connection, or backend, always finds room.
            case .reader: min(Self.mostOfConnection, Self.most / 4 - readers)
            case .backend: Self.most / 2 - backends
            }
        guard counts[asker, default: 0] < share, all < Self.most else { return false }
        change(asker, by: 1)
        return true
    }

    mutating func giveBack(_ asker: Asker) { change(asker, by: -1) }

    private mutating func change(_ asker: Asker, by step: Int) {
        let count = counts[asker, default: 0] + step
        counts[asker] = count == 0 ? nil : count
        all += step
        switch asker {
        case .administrator: break
        case .reader: readers += step
        case .backend: backends += step
        }
    }
}

/// The turns of askers where one thread reads for all administrators and backends, such as the store's. Each asker has
/// one read there at a time; its others wait. All connections with the token for reading are one asker.
struct ReadTurns {
    /// The reads of each asker, in their order; the first one has its turn.
    private var reads: [RequestShares.Asker: [AdminRequestID]] = [:]

    /// - Returns: whether it is the read's turn.
    mutating func add(_ read: AdminRequestID, of asker: RequestShares.Asker) -> Bool {
        reads[asker.reading, default: []].append(read)
        return reads[asker.reading]?.count == 1
    }

    /// Ends the asker's turn.
    /// - Returns: the asker's read whose turn it is now; nil when none waits.
    mutating func next(of asker: RequestShares.Asker) -> AdminRequestID? {
        reads[asker.reading]?.removeFirst()
        guard let next = reads[asker.reading]?.first else {
            reads[asker.reading] = nil
            return nil
        }
        return next
    }

    /// Takes out the waiting reads that nobody waits for. The one that has its turn ends by itself.
    /// - Returns: those that were taken out.
    mutating func drop(
        of asker: RequestShares.Asker, where isGone: (AdminRequestID) -> Bool
    ) -> [AdminRequestID] {
        let gone: [AdminRequestID] = (reads[asker.reading] ?? []).dropFirst().filter(isGone)
        reads[asker.reading]?.removeAll { gone.contains($0) }
        return gone
    }
}

extension RequestShares.Asker {
    /// Who has the turn.
    fileprivate var reading: Self { if case .reader = self { .reader(0) } else { self } }
}
