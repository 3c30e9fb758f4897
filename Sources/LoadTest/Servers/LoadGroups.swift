import CallVocabulary
import EventLoop

/// The groups that a load sets at its server, and takes away from one that goes on after it. Any thread.
actor LoadGroups {
    private let admin: LoadAdmin
    /// Those that were not there before. The others are somebody's, or of a run that could not take them away.
    private var made: [Handle] = []
    /// The last that was asked for: they are set one after the other, so that none is made behind the end.
    private var last: Task<Void, any Error>?
    private var isOver = false

    init(_ admin: LoadAdmin) { self.admin = admin }

    /// Makes the group, or takes the place of the one with its name. Calls `completion` on `loop`.
    nonisolated func set(
        _ name: Handle, members: [Handle], on loop: EventLoop, completion: @escaping (Result<Void, any Error>) -> Void
    ) {
        let completion = LoopBound(completion, on: loop)
        Task {
            let result: Result<Void, any Error>
            do {
                result = .success(try await set(name, members))
            } catch {
                result = .failure(LoadError("the group \(name) could not be set: \(error)"))
            }
            loop.execute { completion.value(result) }
        }
    }

    /// - Throws: ``LoadError``.
    func set(_ name: Handle, _ members: [Handle]) async throws {
        guard !isOver else { throw LoadError("the run has ended") }
        let before = last
        let task = Task {
            _ = await before?.result
            try await make(name, members)
        }
        last = task
        try await task.value
    }

    private func make(_ name: Handle, _ members: [Handle]) async throws {
        // Noted before: when the answer is lost, it may have been made.
        if try await !admin.hasGroup(name) { made.append(name) }
        try await admin.setGroup(name, members: members)
    }

    /// Deletes the groups that were made here; no more can be set from now on.
    /// - Throws: ``LoadError``.
    func removeAll() async throws {
        isOver = true
        _ = await last?.result
        guard let first = made.first else { return }
        do {
            try await admin.deleteGroups(made)
            made = []
        } catch {
            throw LoadError(
                "\(made.count) groups of this run could not all be deleted, the first \(first) (reveille groups list "
                    + "shows "
                    + "what is left): \(error)")
        }
    }
}
