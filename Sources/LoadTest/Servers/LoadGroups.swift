import CallVocabulary
import EventLoop

/// The groups that a load creates at its server, and deletes from a target. Throws ``LoadError``. Any thread.
actor LoadGroups {
    private let admin: LoadAdmin
    /// Those that did not exist before.
    private var made: [Handle] = []
    /// The latest request: groups are set one after the other, so that none is created after the end.
    private var last: Task<Void, any Error>?
    private var isOver = false

    init(_ admin: LoadAdmin) { self.admin = admin }

    /// Creates or replaces the group. Calls `completion` on `loop`.
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
        // Noted first: if the answer is lost, the group may exist.
        if try await !admin.hasGroup(name) { made.append(name) }
        try await admin.setGroup(name, members: members)
    }

    /// Deletes the created groups; no more can be set from now on.
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
